// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityResources

/// Options for the registration of this program at a server that does not know it.
struct RegistrationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of this program's metadata document, for servers that take it as the client id.",
            discussion: "'identityctl registration document' prints the document. off: registers instead.",
            valueName: "url"
        )
    )
    var clientMetadata: String?

    @Option(
        help: ArgumentHelp(
            "The file with the token that a server demands for registrations; - for standard input.",
            discussion: "It goes to the server of --issuer, or of the same profile's line, and to no other.",
            valueName: "file"
        ),
        completion: .file()
    )
    var registrationTokenFile: String?
}

extension RegistrationOptions {
    /// Returns this program with its metadata document, and with the token for a registration, which goes to the issuer that is
    /// named with it and to no other.
    ///
    /// - Throws: `UsageError` for an address that no document can have, for a file that is no absolute path where one is needed, and
    ///   for a token without an issuer.
    func software(_ environment: Variables, _ provider: ProviderOptions) async throws -> ClientSoftware {
        var (software, file) = try checked(environment)
        guard let file else { return software }
        let ofProfile = environment.profile?.own("registration-token-file") == file.text
        guard let issuer = provider.issuer ?? (ofProfile ? environment.profile?.own("issuer") : nil) else {
            throw file.error("the token goes to one server alone. Name it as well: --issuer URL")
        }
        let path = file.text == "-" ? file : Given(text: try environment.path(of: file), origin: file.origin)
        let token = try await TokenInput.token(in: path)
        for spelling in ResourceSearch.spellings(of: issuer) { software.initialAccessTokens[spelling] = token }
        return software
    }

    /// Returns this program with its metadata document, and the file of the token.
    func checked(_ environment: Variables) throws -> (ClientSoftware, tokenFile: Given?) {
        var software = ClientSoftware.identityctl
        if let document = try environment.given("client-metadata", clientMetadata) {
            let address = document.text == "off" ? nil : document.text
            if let address { _ = try document.checked { try software.document(at: address) } }
            software.metadataDocument = address
        }
        let file = try environment.given("registration-token-file", registrationTokenFile)
        if let file, file.text != "-" { _ = try environment.path(of: file) }
        return (software, file)
    }
}
