// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import Synchronization

extension TestIdentityProvider {
    /// Makes the next answers of an endpoint fail, in order. Later answers are correct again.
    public func failNext(_ endpoint: Endpoint, with faults: Fault...) {
        state.withLock { $0.faults.next[endpoint, default: []] += faults }
    }

    /// Makes every answer of an endpoint fail from now on. `nil` ends that, and drops the faults that
    /// ``failNext(_:with:)`` planned.
    public func failAlways(_ endpoint: Endpoint, with fault: Fault?) {
        state.withLock { state in
            state.faults.always[endpoint] = fault
            if fault == nil { state.faults.next[endpoint] = nil }
        }
    }

    /// Makes the next ID tokens, and signed answers of the UserInfo endpoint, wrong, in order.
    public func tamperNextIDToken(with tampering: IDTokenTampering...) {
        state.withLock { $0.faults.tampering += tampering }
    }

    /// Signs with a new key from now on, and publishes the key.
    ///
    /// - Parameter keepsOldKeys: Whether the old keys stay published.
    public func rotateSigningKey(keepsOldKeys: Bool = false) {
        state.withLock { state in
            state.keyIndex = max(2, state.keyIndex + 1)
            state.publishedKeys = (keepsOldKeys ? state.publishedKeys : []) + [state.keyIndex]
        }
    }

    /// Signs with a new key from now on, and publishes it alone, under the name (`kid`) of the previous key.
    public func replaceSigningKey() {
        state.withLock { state in
            let keyID = state.inheritedKeyIDs[state.keyIndex] ?? SigningKey.name(ofNumber: state.keyIndex)
            state.keyIndex = max(2, state.keyIndex + 1)
            state.publishedKeys = [state.keyIndex]
            state.inheritedKeyIDs[state.keyIndex] = keyID
        }
    }

    /// Answers a request as the fault demands.
    func answer(
        with fault: Fault?,
        clock: any WallClock,
        act: () throws -> ProviderResponse
    ) async throws -> ProviderAnswer {
        switch fault?.kind {
        case nil: return .response(try act())
        case .drop: return .dropped
        case .answer(let response): return .response(response)
        case .refuse(let refusal): return .response(snapshot.response(to: refusal, now: self.clock.now))
        case .endless: return .endless(ProviderResponse(status: 200, headers: [("Content-Type", "application/json")]))
        case .delay(let duration, let next):
            try await clock.sleep(for: duration)
            return try await answer(with: next, clock: clock, act: act)
        case .held(let gate, let next):
            try await gate.wait()
            return try await answer(with: next, clock: clock, act: act)
        case .dropAfterCommit:
            _ = try act()
            return .dropped
        case .truncate: return .truncated(try act())
        case .replaceBody, .member, .repeatMember, .insecureEndpoints, .all:
            return .response(Self.changed(try act(), by: fault))
        }
    }

    private static func changed(_ response: ProviderResponse, by fault: Fault?) -> ProviderResponse {
        var response = response
        switch fault?.kind {
        case .replaceBody(let status, let contentType, let body):
            response = ProviderResponse(
                status: status ?? response.status,
                headers: [("Content-Type", contentType)],
                body: body
            )
        case .member(let name, let json):
            guard var object = try? JSONObject(parsing: response.body) else { return response }  // not JSON: no members
            let value = json.map { #"{"value":\#($0)}"# }.flatMap { try? JSONObject(parsing: Array($0.utf8)) }
            object[name] = json.map { value?["value"] ?? .string($0) }
            response.body = object.serialized()
        case .repeatMember(let name):
            guard let object = try? JSONObject(parsing: response.body), let value = object[name] else {
                return response
            }
            let first = JSONObject([(name, value)]).serialized().dropLast()
            response.body = first + [UInt8(ascii: ",")] + response.body.dropFirst()
        case .insecureEndpoints:
            let text = String(decoding: response.body, as: UTF8.self)
            response.body = Array(
                text.split(separator: "https://", omittingEmptySubsequences: false).joined(separator: "http://").utf8
            )
        case .all(let faults):
            for fault in faults { response = changed(response, by: fault) }
        default: break
        }
        return response
    }
}

/// The faults planned for the next answers.
struct FaultPlan: Sendable {
    typealias Endpoint = TestIdentityProvider.Endpoint

    var next: [Endpoint: [TestIdentityProvider.Fault]] = [:]
    var always: [Endpoint: TestIdentityProvider.Fault] = [:]
    var tampering: [IDTokenTampering] = []

    mutating func take(for endpoint: Endpoint) -> TestIdentityProvider.Fault? {
        guard var queue = next[endpoint], !queue.isEmpty else { return always[endpoint] }
        let fault = queue.removeFirst()
        next[endpoint] = queue
        return fault
    }

    mutating func takeTampering() -> IDTokenTampering? { tampering.isEmpty ? nil : tampering.removeFirst() }
}
