// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whether a server is asked for tokens that are bound to a key of the sign-in.
///
/// ```swift
/// configuration.dpop = .whenOffered
/// ```
/// - SeeAlso: [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
@nonexhaustive public enum DPoPPolicy: String, Hashable, Sendable {
    /// Never.
    case off
    /// If the server publishes that it can (`dpop_signing_alg_values_supported` with ES256). A bearer token is taken as well.
    case whenOffered = "when-offered"
    /// Always. A bearer token is refused with `.unsupported`.
    case required
}
