// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityResources
import OAuthWire

/// The commands for what this program has registered at servers.
struct RegistrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration",
        abstract: "Lists the resources with a sign-in, and this program's clients at their servers.",
        subcommands: [
            RegistrationListCommand.self, RegistrationShowCommand.self, RegistrationRemoveCommand.self,
            RegistrationDocumentCommand.self,
        ],
        defaultSubcommand: RegistrationListCommand.self
    )
}

/// The command that lists the known resources.
struct RegistrationListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints a line for each resource: its address, its server, and the client id there."
    )

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let known = try KnownResources(session.environment).all().map { $0.report }
        guard !session.isJSON else {
            return try session.result(JSONObject([("registrations", .array(known.map { .object($0) }))]).line + "\n")
        }
        let rows = known.map { row in
            ["resource", "issuer", "clientId"].map { (row.string($0) ?? "").printable }.joined(separator: "\t") + "\n"
        }
        try session.result(rows.joined())
    }
}

/// The command that shows one known resource.
struct RegistrationShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints what is known of a resource, as lines of a profile. There is no secret in it."
    )

    @Argument(help: ArgumentHelp("The address of the resource, or one below it.", valueName: "url"))
    var url: String

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        guard let known = try KnownResources(session.environment).profile(for: url) else { throw unknown(url) }
        guard !session.isJSON else { return try session.result(known.report.line + "\n") }
        try session.result(known.lines.map { "\($0.name) = \($0.value.printable)\n" }.joined())
    }
}

/// The command that forgets a resource, and the client at its server.
struct RegistrationRemoveCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Forgets a resource, and this program's registration at its server.",
        discussion: """
            The next sign-in registers anew. The server still knows the client, and accounts that are signed in with it stay \
            here: sign them out first, with 'identityctl logout --resource URL'. Other resources of the same server have \
            registrations of their own.
            """
    )

    @Argument(help: ArgumentHelp("The address of the resource, or one below it.", valueName: "url"))
    var url: String

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var output: OutputOptions

    var isAboutSignIns: Bool { true }

    func run(in session: Session) async throws {
        let known = try KnownResources(session.environment)
        guard let profile = try known.profile(for: url), let issuer = profile.given("issuer"),
            let resource = profile.given("resource")
        else { throw unknown(url) }
        if profile.given("registered") != nil {
            try await ClientRegistration.forget(
                of: .identityctl,
                at: issuer.checked { try .oauth2(issuer: issuer.text, resource: resource.text) },
                cache: provider.cacheOfRegistrations(session)
            )
        }
        _ = try known.forget(resource.text)
        try session.done("Forgotten: \(resource.text.printable)")
    }
}

/// The command that prints this program's metadata document.
struct RegistrationDocumentCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "document",
        abstract: "Prints this program's metadata document, to be served at an address of yours.",
        discussion: """
            Servers that take client id metadata documents need no registration: give 'login' --client-metadata URL. The \
            document must stand at exactly that address, with status 200 and the type application/json.
            """
    )

    @Argument(help: ArgumentHelp("The https address at which the document will stand.", valueName: "url"))
    var url: String

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let given = Given(text: url, origin: "the address")
        try session.result(given.checked { try ClientSoftware.identityctl.document(at: url) } + "\n")
    }
}

private func unknown(_ url: String) -> UsageError {
    UsageError("There was no sign-in for \(url.printable) here. 'identityctl registration list' lists what is known.")
}

extension Profile {
    /// The lines of a resource, as JSON.
    fileprivate var report: JSONObject {
        func text(_ name: String) -> JSONValue { given(name).map { .string($0.text) } ?? .null }
        return JSONObject([
            ("resource", text("resource")), ("issuer", text("issuer")), ("clientId", text("client-id")),
            ("registered", .bool(given("registered") != nil)), ("redirectUri", text("redirect-uri")),
            ("scopes", .strings(given("scope")?.words ?? [])),
        ])
    }
}
