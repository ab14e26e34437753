// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient
import Testing

@testable import IdentityBroker

@Suite struct BrokerErrorTests {
    @Test(
        arguments: [
            ("ServiceUnknown", AuthenticationError.Code.brokerUnavailable, "Install"),
            ("NameHasNoOwner", .brokerUnavailable, "Install"), ("Spawn.ExecFailed", .brokerUnavailable, "Install"),
            ("UnknownMethod", .brokerUnavailable, "Update it"), ("AccessDenied", .brokerUnavailable, "--talk-name"),
            ("NoReply", .serverUnavailable, "did not answer"),
            ("LimitsExceeded", .serverUnavailable, "could not be asked"),
        ]
    )
    func tellsWhatTheBusSays(name: String, code: AuthenticationError.Code, words: String) throws {
        let failure = GLibFailure(
            domain: "g-dbus-error-quark",
            code: 0,
            name: "org.freedesktop.DBus.Error.\(name)",
            message: "no"
        )
        let translated = AuthenticationError.fromBroker(failure, BrokerFixtures.correlationID)
        let error = try #require(translated as? AuthenticationError)
        #expect(error.code == code && error.message.contains(words), "\(error.message)")
        #expect(error.correlationID == BrokerFixtures.correlationID)
    }
}
