// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityResources

/// Options for the registration of this program at a server that does not know it.
struct RegistrationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address of this program's metadata document, for servers that take it as the client id.",
            discussion: "'identityctl registration document' prints the document.",
            valueName: "url"
        )
    )
    var clientMetadata: String?

    @Option(
        help: ArgumentHelp(
            "The file with the token that a server demands for registrations; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var registrationTokenFile: String?
}

extension RegistrationOptions {
    /// Returns this program with its metadata document.
    ///
    /// - Throws: `UsageError` for an address that no document can have, and for a file that is no absolute path where one is
    ///   needed.
    func software(_ environment: Environment) throws -> (ClientSoftware, tokenFile: Given?) {
        var software = ClientSoftware.identityctl
        if let document = try environment.given("client-metadata", clientMetadata) {
            _ = try document.checked { try software.document(at: document.text) }
            software.metadataDocument = document.text
        }
        let file = try environment.given("registration-token-file", registrationTokenFile)
        if let file, file.text != "-" { _ = try file.path(environment) }
        return (software, file)
    }
}
