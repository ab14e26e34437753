// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import LoopbackHTTP
import OAuthWire
import Synchronization

extension TestIdentityProvider {
    /// Opens the provider on the loopback interface, for real browsers and other processes.
    ///
    /// A second call closes the port of the first. Tokens name the issuer at the address through which they were
    /// requested; External ID's tokens name their tenant's own issuer.
    /// - Parameter port: The port to listen on; 0 takes any free port.
    /// - Returns: The address for clients, for example `http://localhost:40123`.
    /// - Throws: `AuthenticationError` of the family `.configuration` if the provider cannot listen on the port.
    @discardableResult
    public func listen(port: UInt16 = 0) throws -> Authority {
        close()
        var limits = LoopbackServer.Limits()
        limits.maximumConnections = 128
        limits.maximumRequestLineLength = 32 * 1024
        do {
            let server = try LoopbackServer.start(hosts: [.ipv4, .ipv6], port: port, limits: limits) {
                [weak self] request in
                await self?.answer(request) ?? .dropped
            }
            let origin = "http://localhost:\(server.port)"
            state.withLock { $0.loopbackOrigin = origin }
            self.server.withLock { $0 = server }
            return try Self.authority(profile, origin: origin, issuerPath: issuerPath, policy: nil)
        } catch let error as LoopbackServerError {
            throw AuthenticationError(
                .invalidArgument,
                "The provider cannot listen on port \(port) of the loopback interface.",
                underlyingError: error
            )
        }
    }

    /// Stops listening on loopback and frees the port. The state stays, and ``transport`` keeps working.
    public func close() {
        state.withLock { $0.loopbackOrigin = nil }
        let open = server.withLock { server in
            defer { server = nil }
            return server
        }
        open?.close()
    }

    private func answer(_ request: LoopbackRequest) async -> LoopbackResponse {
        // Refuses a page from another site whose host name was made to point here.
        guard let host = request.headers["Host"], let address = WebAddress("http://\(host)"),
            let own = snapshot.loopbackOrigin.flatMap(WebAddress.init), address.port == own.port
        else { return LoopbackResponse(status: 400, text: "This provider is for this machine alone.") }
        let asked = ProviderRequest(
            method: request.method,
            origin: address.origin,
            target: request.target,
            headers: request.headers.fields.map { ($0.name, $0.value) },
            body: request.body
        )
        do {
            switch try await answer(asked, clock: SystemClock()) {
            case .response(let response): return Self.loopback(response)
            case .dropped: return .dropped
            case .truncated(let response):
                var head = Self.loopback(response)
                let body = response.body
                head.headers["Content-Length"] = String(body.count)
                head.body = .stream { try await $0.write(Array(body.prefix(body.count / 2))) }
                return head
            case .endless(let response):
                var head = Self.loopback(response)
                head.body = .stream { writer in
                    try await writer.write(#"{"filler":""#)
                    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
                    while !Task.isCancelled { try await writer.write(piece) }
                }
                return head
            }
        } catch {
            return .dropped
        }
    }

    private static func loopback(_ response: ProviderResponse) -> LoopbackResponse {
        let fields = response.headers.map { LoopbackHeaders.Field(name: $0.0, value: $0.1) }
        return LoopbackResponse(status: response.status, headers: LoopbackHeaders(fields), body: .bytes(response.body))
    }
}
