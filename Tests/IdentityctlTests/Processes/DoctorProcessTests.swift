// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// A machine without a display, session bus or keyring.
@Suite struct DoctorProcessTests {
    @Test(.timeLimit(.minutes(1)), arguments: KeyringLibrary.states)
    func saysWhatIsMissingAndComparesTheClock(_ library: KeyringLibrary) async throws {
        let setup = try ToolSetup()
        let variables = try [
            "IDENTITYCTL_ISSUER": setup.issuer, "IDENTITYCTL_CACHE": "file:\(setup.directory.path)",
            "IDENTITYCTL_BROWSER": "/bin/true", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        ].merging(library.variables(in: setup.directory)) { $1 }
        let outcome = try await Tool.run(["doctor", "--json"], variables)
        #expect(outcome.status == 8)
        let object = try JSONObject(parsing: Array(outcome.output.utf8))
        #expect(object.integer("status") == 8)
        #expect(outcome.output.contains(#""check":"browser","state":"ok","found":"/bin/true""#))
        let lack = library.isThere ? "session bus" : "secret service"
        #expect(outcome.output.contains(#""check":"\#(lack)","state":"lack""#))
        #expect(outcome.output.contains("libsecret could not be loaded") == !library.isThere)
        #expect(outcome.output.contains("(mode 700)"))
        #expect(outcome.output.contains(#""check":"token store","state":"ok","found":"file""#))
        let table = try await Tool.run(["doctor"], variables.merging(["DISPLAY": ":7"]) { $1 })
        #expect(table.status == 4)
        #expect(table.output.contains("display         ok    X11 (:7)\n"))
    }

    @Test(.timeLimit(.minutes(1))) func saysWhereTheTokensOfAClientRest() async throws {
        let setup = try ToolSetup()
        var variables = ["XDG_STATE_HOME": setup.directory.path, "DBUS_SESSION_BUS_ADDRESS": "disabled:"]
        func row() async throws -> String? {
            let table = try await Tool.run(["doctor"], variables)
            return table.output.split(separator: "\n").first { $0.hasPrefix("token store") }.map(String.init)
        }
        #expect(try await row() == "token store     -     not asked: give --client-id or --group")
        variables["IDENTITYCTL_CLIENT_ID"] = "test-client"
        #expect(try await row() == "token store     -     none yet: the first sign-in decides")
        #expect(try await Tool.run(["cache", "move", "--to", "file"], variables).status == 0)
        #expect(try await row() == "token store     ok    file")
    }
}
