// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
import IdentityClient
import OAuthWire

extension AuthenticatedClient {
    /// Returns the pages of a collection that is linked by `@odata.nextLink`. Each page is fetched when it is
    /// requested.
    ///
    /// A next link must have the same scheme, host and port as `url`: the token is sent nowhere else, and a page
    /// without the token would be useless. It must also differ from all links before it. The loop ends after `limit`
    /// pages.
    ///
    /// ```swift
    /// for try await page in graph.pages(from: users) {
    ///     people += try page.values(of: Person.self)
    /// }
    /// ```
    /// The loop throws ``UnexpectedResponse`` for an answer outside 200 to 299, `.malformedResponse` for a next link
    /// that is not followed, `.malformedResponse` for a page that is not JSON, and the errors of ``send(_:body:)``. It
    /// returns every page that it fetched before that, including the page with the refused link.
    /// - Parameters:
    ///   - url: The address of the first page.
    ///   - limit: The most pages; 10,000 unless given. If the last of these pages has a next link, the loop returns
    ///     this page, and then throws `.malformedResponse`.
    /// - SeeAlso: [OData JSON Format 4.01 §4.6.5](https://docs.oasis-open.org/odata/odata-json-format/v4.01/odata-json-format-v4.01.html#sec_ControlInformationnextLinkodatanextLink)
    public func pages(from url: URL, limit: Int = 10_000) -> ResourcePages {
        pages(from: .json(url), limit: limit)
    }

    /// Returns the pages for a request with its own header fields or query. Every page's request has the same header
    /// fields.
    public func pages(from request: HTTPRequest, limit: Int = 10_000) -> ResourcePages {
        ResourcePages(client: self, request: request, limit: limit)
    }
}

/// The pages of a collection, in order. Every loop begins with the first page.
///
/// ```swift
/// for try await page in client.pages(from: url) {
///     tasks += try page.values(of: TodoTask.self)
/// }
/// ```
public struct ResourcePages: AsyncSequence, Sendable {
    /// The type of a page.
    public typealias Element = ResourcePage

    let client: AuthenticatedClient
    let request: HTTPRequest
    let limit: Int

    /// Starts a loop with the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(client: client, next: .success(request), left: limit)
    }

    /// The position of a loop.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: AuthenticatedClient
        /// The next step: a request, or the error for a link that is not followed.
        var next: Result<HTTPRequest, any Error>?
        var left: Int
        var seen: Set<String> = []

        /// Fetches the next page; returns `nil` after the last page and after an error.
        ///
        /// - Throws: The errors of ``AuthenticatedClient/send(_:body:)``; ``UnexpectedResponse`` for an answer outside
        ///   200 to 299, `.malformedResponse` for a next link that is not followed, and for a page
        ///   that is not JSON.
        public mutating func next() async throws -> ResourcePage? {
            guard let step = next else { return nil }
            next = nil
            let request = try step.get()
            let route = try ResourceRoute(request)
            seen.insert(route.address.text)
            left -= 1
            let (response, body) = try await client.send(request)
            guard response.status.kind == .successful else { throw UnexpectedResponse(response: response, body: body) }
            let page = try ResourcePage(response: response, body: body)
            if let link = page.link { next = Result { try following(link, after: route) } }
            return page
        }

        private func following(_ link: String, after route: ResourceRoute) throws -> HTTPRequest {
            guard let address = route.address.resolving(link), address.origin == route.address.origin else {
                throw refusal("the next page is at another address than \(route.address.origin)")
            }
            guard !seen.contains(address.text) else { throw refusal("the next page was read before") }
            guard left > 0 else { throw refusal("there are more pages than the limit") }
            var request = route.request
            request.path = address.target
            return request
        }

        private func refusal(_ why: String) -> AuthenticationError {
            AuthenticationError(.malformedResponse, "No further page of the collection is read, because \(why).")
        }
    }
}

/// A page of a collection.
///
/// ```swift
/// for try await page in client.pages(from: url) {
///     tasks += try page.values(of: TodoTask.self)
/// }
/// ```
public struct ResourcePage: Sendable {
    /// The answer's head.
    public let response: HTTPResponse

    /// The page's JSON.
    public let body: [UInt8]

    /// The address of the next page; `nil` on the last page.
    public var nextLink: URL? { link.flatMap { URL(string: $0) } }

    /// The same, as the server wrote it.
    let link: String?

    private struct Links: Decodable {
        let nextLink: String?

        enum CodingKeys: String, CodingKey {
            case nextLink = "@odata.nextLink"
        }
    }

    private struct Collection<Value: Decodable>: Decodable {
        let value: [Value]
    }

    init(response: HTTPResponse, body: [UInt8]) throws {
        self.response = response
        self.body = body
        link = try Self.decode(Links.self, from: body, with: JSONDecoder()).nextLink
    }

    /// Returns the members of the page's `value`.
    ///
    /// - Throws: `AuthenticationError.Code.malformedResponse` when they are not of this type.
    public func values<Value: Decodable>(
        of type: Value.Type = Value.self,
        decoder: JSONDecoder = JSONDecoder()
    ) throws -> [Value] {
        try Self.decode(Collection<Value>.self, from: body, with: decoder).value
    }

    private static func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: [UInt8],
        with decoder: JSONDecoder
    ) throws -> Value {
        do {
            return try decoder.decode(type, from: Data(body))
        } catch {
            throw AuthenticationError(
                .malformedResponse,
                "A page of the collection is not the JSON that was expected.",
                underlyingError: error
            )
        }
    }
}

/// The error for an answer that is not a page: its status is outside 200 to 299.
///
/// ```swift
/// } catch let error as UnexpectedResponse {
///     print("The API answered \(error.response.status.code).")
/// }
/// ```
public struct UnexpectedResponse: Error, Sendable, CustomStringConvertible {
    /// The answer's head.
    public let response: HTTPResponse

    /// The answer's body. Many servers put the reason into it.
    public let body: [UInt8]

    /// Creates the error, for a program's tests.
    public init(response: HTTPResponse, body: [UInt8]) {
        self.response = response
        self.body = body
    }

    /// The status, without the body.
    public var description: String { "The resource answered with status \(response.status.code)." }
}
