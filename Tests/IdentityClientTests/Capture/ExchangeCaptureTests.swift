// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import Testing

@testable import IdentityCapture
@testable import IdentityClient

@Suite struct ExchangeCaptureTests {
    @Test func keepsNoEntryBeyondItsSize() throws {
        let capture = ExchangeCapture(maximumBytes: 300)
        capture.note(String(repeating: "a", count: 400))
        capture.note("The acquisition begins.")
        let object = try JSONObject(parsing: capture.json())
        #expect(object.array("entries")?.count == 1)
        #expect(object["omitted"] == .number("1"))
    }

    /// The metadata of a log entry may come from anywhere.
    @Test func keepsOfALogEntryWhatIsNoSecret() {
        let capture = ExchangeCapture()
        let logger = capture.logger(beside: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        logger.debug(
            "A refresh failed",
            metadata: ["identity.error": "S3cr3tValue", "identity.address": "https://alice@example.test"]
        )
        let text = String(decoding: capture.json(), as: UTF8.self)
        #expect(text.contains("A refresh failed"))
        #expect(!text.contains("S3cr3t") && !text.contains("example.test"))
    }
}
