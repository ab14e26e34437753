// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import OAuthWire
import Testing

/// A machine without display, session bus and keyring.
@Suite struct DoctorProcessTests {
    @Test(.timeLimit(.minutes(1))) func saysWhatIsMissingAndComparesTheClock() async throws {
        let place = try Surroundings()
        let variables = [
            "IDENTITYCTL_ISSUER": place.issuer, "IDENTITYCTL_CACHE": "file:\(place.directory.path)",
            "IDENTITYCTL_BROWSER": "/bin/true", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        ]
        let outcome = try await Tool.run(["doctor", "--json"], variables)
        #expect(outcome.status == 6)
        let object = try JSONObject(parsing: Array(outcome.output.utf8))
        #expect(object.integer("status") == 6)
        #expect(outcome.output.contains(#""check":"browser","state":"ok","found":"/bin/true""#))
        #expect(outcome.output.contains(#""check":"session bus","state":"lack""#))
        #expect(outcome.output.contains("(mode 700)"))
        let table = try await Tool.run(["doctor"], variables.merging(["DISPLAY": ":7"]) { $1 })
        #expect(table.status == 4)
        #expect(table.output.contains("display         ok    X11 (:7)\n"))
    }
}
