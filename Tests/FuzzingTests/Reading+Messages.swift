// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Logging
import OAuthWire

@testable import IdentityClient

extension Reading {
    /// The first byte chooses the status; the rest is the body.
    static func tokenAnswer(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return }
        let statuses = [200, 400, 401, 302, 408, 429, 500, 503]
        let response = HTTPResponse(
            status: .init(code: statuses[Int(first) % statuses.count]),
            headerFields: [.retryAfter: String(decoding: bytes.prefix(40), as: UTF8.self)]
        )
        let context = RequestContext(correlationID: nil, logger: silentLogger)
        let body = Array(bytes.dropFirst())
        switch EndpointOutcome<TokenResponse>(response, body, grant: .refreshToken, now: now, context: context) {
        case .accepted(let tokens):
            precondition(tokens.accessToken?.isEmpty != true, "an empty token was granted")
        case .refused(let error), .ambiguous(let error):
            precondition(!error.message.isEmpty, "an error without words")
        }
        if let wait = response.retryAfter(now: now) {
            precondition(wait >= .zero && wait <= .seconds(3600), "an unbounded wait")
        }
    }

    /// Answers before the person acts: a code for another device, or the reference to a pushed request.
    static func deviceAnswer(_ bytes: [UInt8]) {
        guard let json = object(bytes) else { return }
        if let response = try? DeviceAuthorizationResponse(json) {
            precondition(!response.deviceCode.isEmpty && !response.userCode.isEmpty, "an empty code was accepted")
        }
        if let response = try? PushedAuthorizationResponse(json) {
            precondition((1...2048).contains(response.requestURI.utf8.count), "an empty or endless reference")
            precondition(response.expiresIn > 0, "a reference without a lifetime")
            let items = [("request_uri", response.requestURI)]
            guard let url = try? FormURLEncoded.appending(items, to: "https://h/a"), URL(string: url) != nil else {
                preconditionFailure("a reference that cannot stand in an address")
            }
        }
    }

    static func discovery(_ bytes: [UInt8]) {
        guard let json = object(bytes) else { return }
        _ = try? DiscoveryDocument(json)
        if let metadata = try? ResourceMetadata(json) {
            precondition((1...16).contains(metadata.authorizationServers.count), "no server, or endless ones")
        }
        if let client = try? ClientRegistrationResponse(json) {
            precondition(!client.clientID.isEmpty && client.clientID.utf8.areVisible, "an unusable client")
        }
        _ = try? InstanceDiscoveryResponse(json)
        _ = ProviderDocument(decoding: CacheRecord(bytes: bytes))
    }

    static func challenge(_ bytes: [UInt8]) {
        let values = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        let challenges = AuthenticationChallenge.parse(values)
        precondition(challenges.count <= 32, "more challenges than the limit")
        for challenge in challenges {
            precondition(!challenge.scheme.isEmpty, "a challenge without a scheme")
            if let claims = challenge.claims {
                precondition(object(Array(claims.utf8)) != nil, "claims that are no JSON object")
            }
        }
    }

    /// The lines are fields of challenges, and of answers with the nonce for the next request.
    static func nonce(_ bytes: [UInt8]) {
        let values = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        let challenges = AuthenticationChallenge.parse(values)
        for challenge in challenges where challenge.nonce != nil {
            precondition(challenge.scheme == "pop", "a nonce of another scheme")
        }
        var fields = HTTPFields()
        for value in values { fields.append(HTTPField(name: .dpopNonce, value: value)) }
        let announced = [AuthenticationChallenge.nextNonce(in: values), AuthenticationScheme.nonceField(in: fields)]
        for nonce in challenges.map(\.nonce) + announced {
            guard let nonce else { continue }
            precondition((1...2048).contains(nonce.utf8.count), "an empty or endless nonce")
            precondition(nonce.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a nonce that breaks a header")
        }
    }

    static func clientInfo(_ bytes: [UInt8]) {
        guard let info = ClientInfo.parse(String(decoding: bytes, as: UTF8.self)) else { return }
        precondition(!info.uid.isEmpty && !info.utid.isEmpty, "an empty name was accepted")
    }

    /// The bytes as JSON, which must survive being written and read again.
    static func object(_ bytes: [UInt8]) -> JSONObject? {
        guard let object = try? JSONObject(parsing: bytes) else { return nil }
        precondition((try? JSONObject(parsing: object.serialized())) == object, "JSON changed by writing it")
        return object
    }

    static let now: Int64 = 1_790_000_000
    static let silentLogger = Logger(label: "fuzzing") { _ in SwiftLogNoOpLogHandler() }
}
