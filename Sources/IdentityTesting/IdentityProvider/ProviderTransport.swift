// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient

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
            throw AuthenticationError(.responseTooLarge, "The answer is larger than 1 MiB.")
        case .response(let response):
            guard response.body.count <= 1 << 20 else {
                throw AuthenticationError(.responseTooLarge, "The answer is larger than 1 MiB.")
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
        return address.port == nil && CloudInstances.aliases(of: own.host).contains(address.host)
    }
}
