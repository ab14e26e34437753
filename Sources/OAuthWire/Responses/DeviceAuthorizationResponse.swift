// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The code for a person to type on another device, with its lifetime and the polling interval.
/// - SeeAlso: [RFC 8628 §3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)
package struct DeviceAuthorizationResponse: Sendable {
    /// The secret half, for the token endpoint.
    package var deviceCode: String
    /// The code that the person types, without control characters.
    package var userCode: String
    /// The page for the code, in visible ASCII; its scheme is not yet checked.
    package var verificationURI: String
    /// The page's address including the code, for a QR code.
    package var verificationURIComplete: String?
    /// In seconds.
    package var expiresIn: Int
    /// Seconds between two requests: 5 by default, at least 1.
    package var interval: Int
    /// The server's instruction for the person, on one line.
    package var message: String?

    /// Reads the answer.
    /// - Throws: `WireError` if a required field is missing, wrong, or unsafe to show.
    package init(_ json: JSONObject) throws {
        deviceCode = try json.requiredString("device_code")
        userCode = try json.requiredString("user_code")
        guard WireText.areSame(WireText.clean(userCode), userCode) else { throw WireError.malformed("user_code") }
        // Deviation: Google and older Microsoft servers write verification_url.
        guard
            let uri = try json.optionalString("verification_uri") ?? json.optionalString("verification_url")
        else { throw WireError.missing("verification_uri") }
        guard uri.utf8.areVisible else { throw WireError.malformed("verification_uri") }
        verificationURI = uri
        verificationURIComplete =
            try json.optionalString("verification_uri_complete") ?? json.optionalString("verification_url_complete")
        if let complete = verificationURIComplete, !complete.utf8.areVisible {
            throw WireError.malformed("verification_uri_complete")
        }
        guard let seconds = try json.optionalDuration("expires_in") else { throw WireError.missing("expires_in") }
        expiresIn = seconds
        interval = max(1, try json.optionalDuration("interval") ?? 5)
        message = try json.optionalString("message").map(WireText.clean)
    }
}
