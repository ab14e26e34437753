// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// How the provider hands over the authorization response.
///
/// - SeeAlso: [OAuth 2.0 Multiple Response Types §2.1](https://openid.net/specs/oauth-v2-multiple-response-types-1_0.html#ResponseModes),
///   [Form Post Response Mode](https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html)
public enum ResponseMode: String, Hashable, Sendable, CaseIterable {
    /// In the query of the redirect.
    case query
    /// As a form that the browser posts, so that the code does not stand in the address bar.
    ///
    /// An answer in the query is taken too: some providers publish the form and send a query all the same.
    case formPost = "form_post"
}

extension ResponseMode {
    /// The ways in which the answer may come where this one was asked for.
    ///
    /// Deviation: GitLab publishes `form_post`, but its consent page does not remember that it was asked for; WSO2
    /// Identity Server does not post errors. Both answer in the query then.
    package var accepted: [ResponseMode] { self == .formPost ? [.formPost, .query] : [.query] }

    /// The method of the request that brings an answer so.
    var method: String { self == .formPost ? "POST" : "GET" }
}
