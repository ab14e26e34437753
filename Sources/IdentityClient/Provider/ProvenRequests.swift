// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import Logging
import OAuthWire
import Synchronization

extension EndpointClient {
    /// Sends a request with a proof of a key, and once more with the nonce that the server demands. Such a refusal says that
    /// the server did not look at what the request redeems.
    ///
    /// - SeeAlso: [RFC 9449 §8](https://www.rfc-editor.org/rfc/rfc9449#section-8)
    func proving(
        _ key: DPoPKey?,
        _ method: HTTPRequest.Method,
        _ url: String,
        accessToken: String? = nil,
        _ context: RequestContext,
        _ send: (_ proof: String?) async throws -> (HTTPResponse, body: [UInt8])
    ) async throws -> (HTTPResponse, body: [UInt8]) {
        guard let key, let address = WebAddress(url) else { return try await send(nil) }
        var (nonce, isRepeated) = (nonces.nonce(of: address.origin), false)
        while true {
            let proof = try key.proof(
                method.rawValue,
                address.withoutQuery,
                at: nonces.now(at: address.origin, by: clock),
                nonce: nonce,
                accessToken: accessToken
            )
            let (response, body) = try await send(proof)
            let fresh = nonces.note(response, from: address.origin, by: clock)
            let isDemanded =
                [400, 401].contains(response.status.code)
                && ((try? JSONObject(received: body))?.string("error") == "use_dpop_nonce"
                    || AuthenticationChallenge.parse(response.headerFields[values: .wwwAuthenticate])
                        .contains { $0.error == "use_dpop_nonce" })
            guard isDemanded, !isRepeated, let fresh, fresh != nonce else { return (response, body) }
            context.logger.debug("The server demands its nonce")
            (nonce, isRepeated) = (fresh, true)
        }
    }
}

/// The newest nonce of each server, and how far its clock is from ours, for proofs. In memory: a process asks anew.
package final class ServerNonces: Sendable {
    /// The most seconds by which a server's clock moves a proof. A `Date` that is further away, which could make a proof for a day
    /// to come, is not believed.
    private static let farthest: Int64 = 86_400

    private let known = Mutex<[String: (nonce: String?, offset: Int64)]>([:])

    package init() {}

    package func nonce(of origin: String) -> String? { known.withLock { $0[origin]?.nonce } }

    /// The time at a server. Some accept no proof from a clock that is half a minute wrong.
    package func now(at origin: String, by clock: any WallClock) -> Int64 {
        clock.unixSeconds + known.withLock { $0[origin]?.offset ?? 0 }
    }

    /// Keeps what an answer says, a success too.
    ///
    /// - Returns: The nonce for the next proof.
    @discardableResult
    package func note(_ response: HTTPResponse, from origin: String, by clock: any WallClock) -> String? {
        let nonce = AuthenticationScheme.nonce(in: response.headerFields)
        let date = response.headerFields[.date].flatMap { HTTPDate.parse($0) }
        let fresh = date.map { $0 - clock.unixSeconds }.flatMap { abs($0) <= Self.farthest ? $0 : nil }
        return known.withLock { known in
            let offset = fresh ?? known[origin]?.offset ?? 0
            known[origin] = (nonce ?? known[origin]?.nonce, offset)
            return nonce
        }
    }
}
