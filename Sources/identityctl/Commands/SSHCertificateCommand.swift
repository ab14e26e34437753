// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// The command that writes an SSH certificate of Entra ID.
struct SSHCertificateCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh-certificate",
        abstract: "Writes a certificate of Entra ID, with which ssh signs in at Azure's machines.",
        discussion: """
            The certificate is for a key of yours and good for about an hour. It is written beside the key, where ssh finds it \
            by itself: for azure.pub into azure-cert.pub. The command sends nothing while it is good, and leaves the file as \
            it is, so that ssh can run it each time ('Match exec' in ~/.ssh/config). The private key is not read.

            Entra ID certifies RSA keys only. To make a pair, run: ssh-keygen -t rsa -b 3072 -f ~/.ssh/azure

            Ends with status 2 when a person has to sign in; then run 'identityctl login'.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var publicKey: PublicKeyOption

    @Option(
        name: .customLong("output"),
        help: ArgumentHelp(
            "The file for the certificate, in place of the one beside the key; '-' for standard output.",
            valueName: "file"
        ),
        completion: .file()
    )
    var certificateFile: String?

    @Flag(help: "Ask for a new certificate even if the cached one is still good.")
    var forceRefresh = false

    @Option(
        help: ArgumentHelp("Renew a certificate that is good for less than this, 0 unless given.", valueName: "seconds")
    )
    var minValidity: String?

    @Option(help: ArgumentHelp("How long the provider may take in all, 30 unless given.", valueName: "seconds"))
    var timeout: String?

    @OptionGroup var output: OutputOptions

    var clientOptions: ProviderOptions? { provider }
    var readsSignIns: Bool { true }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions { provider.shared(nil, account) }

    func run(in session: Session) async throws {
        let environment = session.environment
        guard let path = try publicKey.path(environment) else {
            throw UsageError("--public-key: name the file of your public key, for example ~/.ssh/azure.pub.")
        }
        let key = try PublicKeyOption.key(at: path)
        let file = try file(beside: path)
        try file?.check()
        let limit = try SilentOptions.wait(timeout)
        let validity = try environment.given("min-validity", minValidity)?.seconds(from: 0) ?? .zero
        let isForced = try environment.isOn("force-refresh", forceRefresh)
        let application = try session.application(provider)
        guard let scope = application.configuration.authority.sshCertificateScope else {
            throw UsageError(
                "SSH certificates are issued by Entra ID only, and not in each of its clouds. Name it with --authority."
            )
        }
        var parameters = SilentParameters(
            scopes: [scope],
            account: try await application.chosenAccount(environment.given("account", account.account)),
            forcesRefresh: isForced,
            minimumValidity: validity,
            timeout: limit
        )
        parameters.scheme = .sshCertificate(for: key)
        let result = try await session.console.bounded(by: limit + .seconds(1)) { [parameters] in
            try await application.acquireTokenSilently(parameters)
        }
        guard let certificate = result.sshCertificate, certificate.publicKey == key else {
            throw AuthenticationError(.cacheCorrupt, "The kept certificate is damaged. Give --force-refresh once.")
        }
        _ = await session.isStored(result)
        try write(certificate, of: result, to: file, in: session)
    }

    /// Writes the certificate. A file that has it already stays as it is, and nothing is said.
    private func write(
        _ certificate: SSHCertificate,
        of result: AuthenticationResult,
        to file: TokenFile?,
        in session: Session
    ) throws {
        let text = certificate.line + "\n"
        let length = text.utf8.count + 1
        if let file, try PlainFile.read(file.path, atMost: length, check: { _ in })?.bytes != Array(text.utf8) {
            try file.write(text)
            if !session.isJSON {
                session.console.line(
                    "The certificate for \(certificate.principals[0].printable) is in \(file.path.printable), until "
                        + "\(result.expiresOn.utcText)."
                )
            }
        }
        if session.isJSON {
            try session.result(JSONReport.certificate(certificate, of: result, file: file?.path).line + "\n")
        } else if file == nil {
            try session.result(text)
        }
    }

    /// The file for the certificate; `nil` for standard output.
    private func file(beside path: String) throws -> TokenFile? {
        guard let certificateFile else { return TokenFile(PublicKeyOption.base(of: path) + "-cert.pub") }
        guard !certificateFile.isEmpty else { throw UsageError("--output: name a file, or '-' for standard output.") }
        guard certificateFile != path else {
            throw UsageError("--output: this is the public key itself. Name another file.")
        }
        return certificateFile == "-" ? nil : TokenFile(certificateFile)
    }

    func advice(on error: any Error, in session: Session) -> String? {
        guard let code = (error as? AuthenticationError)?.code else { return nil }
        if code == .networkTimedOut { return "To allow more time, give --timeout SECONDS." }
        // An account without tokens signs in as usual. Otherwise the provider asks for something about this scope.
        guard .interactionRequired ~= code, code != .noTokensFound, code != .accountRemoved,
            let scope = try? provider.authority(session.environment)?.sshCertificateScope  // was named before
        else { return nil }
        return PlainReport.advice(error, sharedOptions.replacing("--scope", with: scope.rawValue))
    }
}
