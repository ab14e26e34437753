// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
import IdentityClient
import OAuthWire

extension HTTPRequest {
    /// As ``AuthenticatedClient/request(_:to:query:headerFields:)``.
    package init(
        _ method: HTTPRequest.Method,
        to url: URL,
        query: KeyValuePairs<String, String> = [:],
        headerFields: HTTPFields = [:]
    ) {
        let text = url.absoluteString
        let whole = text[..<(text.firstIndex(of: "#") ?? text.endIndex)]
        let scheme = whole.firstIndex(of: ":").map { String(whole[..<$0]) }
        let rest = whole.firstRange(of: "://").map { whole[$0.upperBound...] } ?? ""
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        var path = String(rest[authorityEnd...])
        if !path.hasPrefix("/") { path = "/" + path }
        for (name, value) in query {
            path += path.contains("?") ? (path.hasSuffix("?") ? "" : "&") : "?"
            path += "\(PercentEncoding.encode(name))=\(PercentEncoding.encode(value))"
        }
        self.init(
            method: method,
            scheme: scheme,
            authority: String(rest[..<authorityEnd]),
            path: path,
            headerFields: headerFields
        )
    }
}

extension AuthenticatedClient {
    /// Returns a request to a web address. The address is checked when the request is sent.
    ///
    /// ```swift
    /// let request = AuthenticatedClient.request(.get, to: users, query: ["$filter": "startswith(givenName,'O''Brien')", "$top": "25"])
    /// ```
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The address; a fragment is left out.
    ///   - query: Names and values to add to the address's query. They are percent-encoded here.
    ///   - headerFields: More header fields.
    public static func request(
        _ method: HTTPRequest.Method,
        to url: URL,
        query: KeyValuePairs<String, String> = [:],
        headerFields: HTTPFields = [:]
    ) -> HTTPRequest {
        HTTPRequest(method, to: url, query: query, headerFields: headerFields)
    }
}
