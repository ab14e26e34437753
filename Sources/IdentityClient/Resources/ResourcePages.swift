// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

extension AuthenticatedClient {
    /// The pages of a collection that is handed out with `@odata.nextLink`, each fetched when it is asked for.
    ///
    /// A next link has to be of the same scheme, host and port as `url`: the token is sent nowhere else, and without it
    /// a page would be of no use. It has to be another one than any before, and after `limit` pages it is enough.
    ///
    /// ```swift
    /// for try await page in graph.pages(from: users) {
    ///     people += try page.values(of: Person.self)
    /// }
    /// ```
    /// The loop throws ``UnexpectedResponse`` for an answer outside 200 to 299, `.unexpectedRedirect` for a next link
    /// that is not followed, `.malformedResponse` for a page that is not JSON, and what ``send(_:body:)`` throws. It gives
    /// every page that it fetched before that, the one with the refused link included.
    /// - Parameters:
    ///   - url: Where the first page is.
    ///   - limit: How many pages there may be; 10,000 unless given. Where the last of them names another one, the loop gives
    ///     it, and throws `.unexpectedRedirect` in place of the other.
    /// - SeeAlso: [OData JSON Format 4.01 §4.6.5](https://docs.oasis-open.org/odata/odata-json-format/v4.01/odata-json-format-v4.01.html#sec_ControlInformationnextLinkodatanextLink)
    public func pages(from url: URL, limit: Int = 10_000) -> ResourcePages {
        pages(from: .json(url), limit: limit)
    }

    /// The same for a request with header fields or a query of its own, which every page is asked with.
    public func pages(from request: HTTPRequest, limit: Int = 10_000) -> ResourcePages {
        ResourcePages(client: self, request: request, limit: limit)
    }
}

/// The pages of a collection, one after the other. Every loop begins with the first page.
///
/// ```swift
/// for try await page in client.pages(from: url) {
///     tasks += try page.values(of: TodoTask.self)
/// }
/// ```
public struct ResourcePages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = ResourcePage

    let client: AuthenticatedClient
    let request: HTTPRequest
    let limit: Int

    /// Begins with the first page.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(client: client, next: .success(request), left: limit)
    }

    /// Where a loop is.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: AuthenticatedClient
        /// What the next step is: a request, or the error of a link that is not followed.
        var next: Result<HTTPRequest, any Error>?
        var left: Int
        var seen: Set<String> = []

        /// Fetches the next page; `nil` after the last one, and after an error.
        ///
        /// - Throws: As ``AuthenticatedClient/send(_:body:)``; ``UnexpectedResponse`` for an answer outside 200 to 299,
        ///   `.unexpectedRedirect` for a next link that is not followed, `.malformedResponse` for a page that is not JSON.
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
            if let link = page.nextLink { next = Result { try following(link, after: route) } }
            return page
        }

        private func following(_ link: String, after route: ResourceRoute) throws -> HTTPRequest {
            guard let address = route.address.resolving(link), address.origin == route.address.origin else {
                throw refusal("the next page is at another address than \(route.address.origin)")
            }
            guard !seen.contains(address.text) else { throw refusal("the next page is one of those before") }
            guard left > 0 else { throw refusal("there are more pages than were to be read") }
            var request = route.request
            request.path = address.target
            return request
        }

        private func refusal(_ why: String) -> AuthenticationError {
            AuthenticationError(.unexpectedRedirect, "The collection is not read on, because \(why).")
        }
    }
}

/// One page of a collection.
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

    /// Where the next page is, as the server wrote it; `nil` on the last one.
    public let nextLink: String?

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
        nextLink = try Self.decode(Links.self, from: body, with: JSONDecoder()).nextLink
    }

    /// The members of the page's `value`.
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

/// An answer that is no page: its status is outside 200 to 299.
///
/// ```swift
/// } catch let error as UnexpectedResponse {
///     print("The API answered \(error.response.status.code).")
/// }
/// ```
public struct UnexpectedResponse: Error, Sendable, CustomStringConvertible {
    /// The answer's head.
    public let response: HTTPResponse

    /// The answer's body, in which many servers say why.
    public let body: [UInt8]

    /// Creates the error; a program's tests do this.
    public init(response: HTTPResponse, body: [UInt8]) {
        self.response = response
        self.body = body
    }

    /// The status, without the body.
    public var description: String { "The resource answered with status \(response.status.code)." }
}
