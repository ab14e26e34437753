// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// How the provider returns the authorization response.
///
/// ```swift
/// parameters.responseMode = .formPost
/// ```
///
/// - SeeAlso: [OAuth 2.0 Multiple Response Types §2.1](https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes),
///   [Form Post Response Mode](https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html)
public enum ResponseMode: String, Hashable, Sendable, CaseIterable {
    /// In the query of the redirect.
    case query
    /// In a form that the browser posts, so that the code is not in the address bar.
    ///
    /// An answer in the query is accepted too: some providers publish the form but send a query.
    case formPost = "form_post"
}

extension ResponseMode {
    /// The modes that are accepted if this mode was requested.
    ///
    /// Deviation: GitLab publishes `form_post`, but its consent page loses the request for it; WSO2 Identity Server
    /// does not post errors. Both then answer in the query.
    package var accepted: [ResponseMode] { self == .formPost ? [.formPost, .query] : [.query] }

    /// The HTTP method of an answer in this mode.
    var method: String { self == .formPost ? "POST" : "GET" }
}
