// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire
import SystemSupport

/// A request that reached a ``TestIdentityProvider``. It contains secrets; its description contains none.
///
/// ```swift
/// let sent = provider.requests.filter { $0.endpoint == .token }
/// ```
public struct RecordedRequest: Sendable {
    /// A name and a value.
    ///
    /// ```swift
    /// #expect(provider.requests.last?.form.contains(.init(name: "grant_type", value: "refresh_token")) == true)
    /// ```
    public struct Item: Hashable, Sendable {
        /// The name.
        public var name: String
        /// The value, decoded.
        public var value: String
    }

    /// The endpoint that was called.
    public let endpoint: TestIdentityProvider.Endpoint
    /// The HTTP method, usually `GET` or `POST`.
    public let method: String
    /// The scheme, host, port and path, without the query.
    public let url: String
    /// The items of the query.
    public let query: [Item]
    /// The items of the posted form.
    public let form: [Item]
    /// The header fields.
    public let headers: [Item]
    /// The time of arrival, by the provider's clock.
    public let time: Date

    init(_ request: ProviderRequest, endpoint: TestIdentityProvider.Endpoint, time: Date) {
        self.endpoint = endpoint
        method = request.method
        url = request.origin + request.path
        query = request.query.map { Item(name: $0.0, value: $0.1) }
        form = request.form.map { Item(name: $0.0, value: $0.1) }
        headers = request.headers.map { Item(name: $0.0, value: $0.1) }
        self.time = time
    }

    /// The value in the form or, if the form has none, in the query.
    public subscript(name: String) -> String? {
        form.first { $0.name == name }?.value ?? query.first { $0.name == name }?.value
    }

    /// Returns the value of a header field; the case of its name does not matter.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

extension RecordedRequest: CustomStringConvertible, CustomReflectable {
    /// The method, the address and the names of the items, never their values.
    public var description: String {
        let names = (query + form).map(\.name).joined(separator: ", ")
        return "\(endpoint): \(method) \(url) (\(names))"
    }

    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

/// The requests so far, and the tasks that wait for more.
struct RequestLog: Sendable {
    struct Waiter: Sendable {
        var endpoint: TestIdentityProvider.Endpoint
        var count: Int
        var promise: Promise<RecordedRequest>
    }

    private(set) var requests: [RecordedRequest] = []
    private var counts: [TestIdentityProvider.Endpoint: Int] = [:]
    private var waiters: [Waiter] = []

    func count(of endpoint: TestIdentityProvider.Endpoint) -> Int { counts[endpoint, default: 0] }

    mutating func append(_ request: RecordedRequest) {
        requests.append(request)
        counts[request.endpoint, default: 0] += 1
        let count = count(of: request.endpoint)
        waiters.removeAll { waiter in
            guard waiter.endpoint == request.endpoint, waiter.count <= count else { return false }
            waiter.promise.finish(.success(request))
            return true
        }
    }

    mutating func wait(for endpoint: TestIdentityProvider.Endpoint, count: Int) -> Promise<RecordedRequest> {
        let promise = Promise<RecordedRequest>()
        if count >= 1, self.count(of: endpoint) >= count {
            promise.finish(.success(requests.filter { $0.endpoint == endpoint }[count - 1]))
        } else {
            waiters.append(Waiter(endpoint: endpoint, count: max(1, count), promise: promise))
        }
        return promise
    }

    mutating func clear() {
        requests = []
        counts = [:]
    }
}

/// The transport that reaches the provider inside the process.
struct ProviderTransport: HTTPTransport {
    let provider: TestIdentityProvider

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try Task.checkCancellation()
        let origin = "\(request.scheme ?? "https")://\(request.authority ?? "")"
        guard provider.isReached(by: origin) else {
            throw AuthenticationError(.nameNotResolved, "The test's provider is not at \(origin).")
        }
        let answer = try await provider.answer(
            ProviderRequest(
                method: request.method.rawValue,
                origin: origin,
                target: request.path ?? "/",
                headers: request.headerFields.map { ($0.name.rawName, $0.value) },
                body: body ?? []
            ),
            clock: provider.clock
        )
        try Task.checkCancellation()
        switch answer {
        case .dropped, .truncated:
            throw AuthenticationError(.connectionFailed, "The connection ended before the answer did.")
        case .endless:
            throw AuthenticationError(.malformedResponse, "The answer is larger than 1 MiB.")
        case .response(let response):
            guard response.body.count <= 1 << 20 else {
                throw AuthenticationError(.malformedResponse, "The answer is larger than 1 MiB.")
            }
            var fields = HTTPFields()
            for (name, value) in response.headers {
                if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
            }
            return (HTTPResponse(status: .init(code: response.status), headerFields: fields), response.body)
        }
    }
}

extension TestIdentityProvider {
    /// Returns whether `origin` is the in-process address, one of its aliases, or the address of the loopback listener.
    func isReached(by origin: String) -> Bool {
        if origin == self.origin || origin == snapshot.loopbackOrigin { return true }
        guard profile.isEntra, let address = WebAddress(origin), let own = WebAddress(self.origin) else { return false }
        if CloudInstances.graphHosts.contains(address.host) { return true }
        if snapshot.accounts.contains(where: { $0.person.cloudHost == address.environment }) { return true }
        return address.port == nil && CloudInstances.aliases(of: own.host).contains(address.host)
    }
}
