// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityResources
import Testing

@testable import identityctl

@Suite struct RegistrationOptionsTests {
    private static let hosted = "https://dl.example.org/identityctl/client.json"

    private func document(_ arguments: [String], _ variables: [String: String] = [:]) throws -> String? {
        try RegistrationOptions.parse(arguments).checked(Variables(variables)).0.metadataDocument
    }

    @Test func hostsItsMetadataDocumentWhereTheReleaseSays() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let data = try Data(contentsOf: URL(filePath: "/\(root)/Packaging/client.json"))
        let address = ClientSoftware.hostedDocument
        #expect(String(decoding: data, as: UTF8.self) == (try ClientSoftware.identityctl.document(at: address)) + "\n")
    }

    /// The address of a tree that was never released is nobody's.
    @Test func isKnownByAnAddressThatServersCanReach() {
        #expect(ClientSoftware.identityctl(documentAt: Self.hosted).metadataDocument == Self.hosted)
        let nowhere = "https://nowhere.example/client.json"
        #expect(ClientSoftware.identityctl(documentAt: nowhere).metadataDocument == nil)
    }

    @Test func registersWhereThePersonWantsThat() throws {
        let software = ClientSoftware.identityctl.metadataDocument
        #expect(try document([]) == software)
        #expect(try document(["--client-metadata", Self.hosted]) == Self.hosted)
        #expect(try document([], ["IDENTITYCTL_CLIENT_METADATA": "off"]) == nil)
        #expect(try document(["--client-metadata", "off"], ["IDENTITYCTL_CLIENT_METADATA": Self.hosted]) == nil)
        #expect(throws: UsageError.self) { try document(["--client-metadata", "http://dl.example.org/client.json"]) }
    }
}
