// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import Testing

@testable import GraphSearch

@Suite struct SearchSettingsTests {
    private func settings(_ json: String, page: PageChoice = .browser) throws -> SearchSettings {
        try SearchSettings(try SettingsFile(Data(json.utf8), path: "s"), page: page)
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
        #expect(settings.registration?.authority == (try .entra(.common)))
    }

    @Test func needsNoneOfThem() throws {
        let settings = try settings("{}")
        #expect(settings == (try SearchSettings()))
        #expect(settings.graphURL.absoluteString == "https://graph.microsoft.com/v1.0")
        #expect(settings.registration == nil)
    }

    @Test func takesTheAuthorityOfTheFile() throws {
        let registration = try settings(
            #"{"clientId": "abc", "authority": "https://login.microsoftonline.us/contoso.com", "secret": ""}"#
        )
        .registration
        #expect(registration?.authority == (try .entra(.tenant("contoso.com"), host: "login.microsoftonline.us")))
    }

    @Test func refusesASecretWithoutRepeatingIt() throws {
        let failure = #expect(throws: ValidationFailure.self) {
            try settings(#"{"clientId": "abc", "secret": "hunter2"}"#)
        }
        let text = try #require(failure).description
        #expect(text.contains("secret must be empty") && !text.contains("hunter2"))
    }

    @Test(arguments: [
        (#"{"redirectUri": "urn:ietf:wg:oauth:2.0:oob:auto"}"#, "redirectUri"),
        (#"{"redirectUri": "https://example.com/"}"#, "redirectUri"),
        (#"{"redirectUri": "http://localhost:99999"}"#, "redirectUri"),
        (#"{"redirectUri": "http://localhost/?a=b"}"#, "redirectUri"),
        (#"{"graphApiUrlString": "http://graph.example.com"}"#, "graphApiUrlString"),
        (#"{"graphApiUrlString": "graph"}"#, "graphApiUrlString"),
        (#"{"authority": "http://login.example.com/common"}"#, "authority"),
        (#"{"apiversion": "v1.0/users?"}"#, "apiversion"),
    ])
    func namesTheKeyThatIsWrong(_ json: String, _ key: String) throws {
        let failure = #expect(throws: ValidationFailure.self) { try settings(json) }
        #expect(failure?.description.hasPrefix("s: \(key)") == true)
    }

    @Test(arguments: ["urn:ietf:wg:oauth:2.0:oob", "msauth.com.example://auth", "https://example.com/back"])
    func takesAnyRedirectAddressForAnEmbeddedPage(_ address: String) throws {
        let url = try #require(URL(string: address))
        let settings = try settings(#"{"redirectUri": "\#(address)"}"#, page: .embedded)
        #expect(settings.redirectURI == (try .custom(url)))
    }

    @Test func takesTheRedirectOfTheTutorialsForLoopback() throws {
        let settings = try settings(#"{"clientId": "abc", "redirectUri": "urn:ietf:wg:oauth:2.0:oob"}"#)
        #expect(settings.registration?.redirectURI == .loopback)
    }

    @Test func takesASchemeOfTheProgramsOwn() throws {
        let url = try #require(URL(string: "com.example.app://auth"))
        #expect(try settings(#"{"redirectUri": "com.example.app://auth"}"#).redirectURI == (try .custom(url)))
    }

    @Test func takesLoopbackForWhatItIsForAnEmbeddedPage() throws {
        let settings = try settings(#"{"redirectUri": "http://localhost"}"#, page: .embedded)
        #expect(settings.redirectURI == (try .loopback(host: .localhost)))
        for address in ["http://example.com", "back"] {
            #expect(throws: ValidationFailure.self) {
                try self.settings(#"{"redirectUri": "\#(address)"}"#, page: .embedded)
            }
        }
    }

    @Test(arguments: ["http://127.0.0.1:40000/", "http://localhost:40000"])
    func takesALoopbackGraph(_ root: String) throws {
        let settings = try settings(#"{"graphApiUrlString": "\#(root)"}"#)
        #expect(settings.graphURL.absoluteString.hasSuffix(":40000/v1.0"))
    }
}
