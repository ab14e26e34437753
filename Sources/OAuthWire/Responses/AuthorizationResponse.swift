// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The answer that the browser brings to the redirect URI.
///
/// Its content is untrusted before `state` has been compared.
/// - SeeAlso: [RFC 6749 §4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2),
///   [RFC 9207 §2](https://www.rfc-editor.org/rfc/rfc9207#section-2)
package struct AuthorizationResponse: Sendable {
    /// A code, or a refusal.
    package enum Outcome: Sendable {
        case code(String)
        case error(ErrorResponse)
    }

    /// The parameters that count only as they were sent. Others may be repaired.
    package static let strictParameters: Set<String> = ["code", "error", "iss", "state"]

    package var state: String?
    /// `iss`: the answering server.
    package var issuer: String?
    /// As received; see ``ClientInfo``.
    package var clientInfo: String?
    package var outcome: Outcome
    /// `cloud_instance_host_name`: the host of the cloud that the person's account belongs to.
    package var cloudHost: String?

    /// Reads the parameters of a query or of a posted form.
    /// - Throws: `WireError`: a required parameter occurs twice, there is neither code nor error, there are both, or
    ///   the code has invalid characters.
    package static func parse(query items: [(String, String)]) throws -> AuthorizationResponse {
        func value(_ name: String) throws -> String? {
            let values = items.filter { $0.0 == name }
            guard values.count <= 1 else { throw WireError.duplicate(name) }
            return values.first.flatMap { $0.1.isEmpty ? nil : $0.1 }
        }
        let code = try value("code")
        let error = try value("error")
        let outcome: Outcome
        switch (code, error) {
        case (let code?, nil):
            guard code.utf8.arePrintable else { throw WireError.malformed("code") }
            outcome = .code(code)
        case (nil, _?):
            guard let response = ErrorResponse(query: items) else { throw WireError.malformed("error") }
            outcome = .error(response)
        case (nil, nil): throw WireError.malformed("authorization response: neither code nor error")
        case (_?, _?): throw WireError.malformed("authorization response: both code and error")
        }
        return AuthorizationResponse(
            state: try value("state"),
            issuer: try value("iss"),
            clientInfo: try value("client_info"),
            outcome: outcome,
            cloudHost: try? value("cloud_instance_host_name")  // of two, neither is believed
        )
    }
}
