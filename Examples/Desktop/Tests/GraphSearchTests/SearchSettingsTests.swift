// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import Testing

@testable import GraphSearch

@Suite struct SearchSettingsTests {
    private func settings(_ json: String) throws -> SearchSettings {
        try SearchSettings(try SettingsFile(Data(json.utf8), path: "s"))
    }

    @Test func readsTheKeysOfTheSample() throws {
        let settings = try settings(
            """
            {"clientId": "abc", "redirectUri": "http://localhost:8400/back", "apiversion": "beta",
             "graphApiUrlString": "https://graph.microsoft.us/"}
            """
        )
        #expect(settings.clientID == "abc")
        #expect(settings.redirectURI == (try .loopback(host: .localhost, ports: 8400...8400, path: "/back")))
        #expect(settings.graphURL.absoluteString == "https://graph.microsoft.us/beta")
        #expect(try settings.registration?.authority == (try .entra(.common)))
    }

    @Test func needsNoneOfThem() throws {
        let settings = try settings("{}")
        #expect(settings == (try SearchSettings()))
        #expect(settings.graphURL.absoluteString == "https://graph.microsoft.com/v1.0")
        #expect(try settings.registration == nil)
    }

    @Test(arguments: [
        (#"{"redirectUri": "urn:ietf:wg:oauth:2.0:oob"}"#, "redirectUri"),
        (#"{"redirectUri": "https://example.com/"}"#, "redirectUri"),
        (#"{"redirectUri": "http://localhost:99999"}"#, "redirectUri"),
        (#"{"redirectUri": "http://localhost/?a=b"}"#, "redirectUri"),
        (#"{"graphApiUrlString": "http://graph.example.com"}"#, "graphApiUrlString"),
        (#"{"graphApiUrlString": "graph"}"#, "graphApiUrlString"),
        (#"{"apiversion": "v1.0/users?"}"#, "apiversion"),
    ])
    func namesTheKeyThatIsWrong(_ json: String, _ key: String) throws {
        let failure = #expect(throws: ValidationFailure.self) { try settings(json) }
        #expect(failure?.description.hasPrefix("s: \(key)") == true)
    }

    @Test(arguments: ["http://127.0.0.1:40000/", "http://localhost:40000"])
    func takesALoopbackGraph(_ root: String) throws {
        let settings = try settings(#"{"graphApiUrlString": "\#(root)"}"#)
        #expect(settings.graphURL.absoluteString.hasSuffix(":40000/v1.0"))
    }
}
