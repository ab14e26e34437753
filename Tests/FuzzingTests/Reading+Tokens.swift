// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

@testable import IdentityClient

extension Reading {
    static func keySet(_ bytes: [UInt8]) {
        guard let json = object(bytes), let keys = try? JSONWebKeySet(json) else { return }
        for algorithm in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"] {
            let header = Base64URL.encode(Array(#"{"alg":"\#(algorithm)"}"#.utf8))
            let signature = Base64URL.encode(Array(repeating: 1, count: algorithm == "ES512" ? 132 : 64))
            guard let token = try? JSONWebToken(compact: "\(header).e30.\(signature)") else {
                preconditionFailure("a token that is well formed is not read")
            }
            precondition((try? keys.verify(token)) == nil, "a signature that nobody made is believed")
        }
    }

    static func idToken(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let token = try? JSONWebToken(compact: text) else { return }
        _ = try? IDTokenClaims(token.claims).atHashMatches(accessToken: "a", algorithm: .rs256)
        guard let keys = try? JSONWebKeySet(JSONObject(parsing: Array(publicKey.utf8))) else {
            preconditionFailure("the key of the specification is not read")
        }
        if (try? keys.verify(token)) != nil {
            precondition(text.hasPrefix(signedInput), "another text has the signature of the example")
        }
    }

    static func cacheRecord(_ bytes: [UInt8]) {
        let rule: (String) -> ScopeRule = { _ in ScopeRule(ignoresCase: false) }
        if let credentials = try? AccountCredentials(decoding: bytes, rule: rule) {
            let again = try? AccountCredentials(decoding: credentials.encoded(), rule: rule)
            precondition(again?.encoded() == credentials.encoded(), "a record changed by writing it")
        }
        if let lease = RefreshLease(decoding: CacheRecord(bytes: bytes)) {
            precondition(RefreshLease(decoding: lease.encoded()) == lease, "a lease changed by writing it")
            let sight = LeaseSight(
                lease,
                observer: lease.holder,
                elapsed: RefreshLease.maximumDuration,
                holderIsDead: false
            )
            precondition(sight.isFree(seenSince: 0), "a lease that binds for ever")
        }
        if let wait = ServerWait(CacheRecord(bytes: bytes)) {
            for time in [0, now, wait.notedAt, .max] {
                let left = wait.remaining(at: time)
                let longest = ServerWait.maximum
                precondition(left.map { (1...longest).contains($0) } ?? true, "a wait that is too long")
            }
        }
    }

    static func fileHeader(_ bytes: [UInt8]) {
        let record = CacheRecord(bytes: bytes)
        guard let group = try? CacheGroup("fuzzing"), let key = try? EncryptionKey(Array(repeating: 7, count: 32))
        else {
            preconditionFailure("the fixed group and key are not taken")
        }
        let name = CacheKey(group: group, kind: .account, name: "a")
        _ = try? SealedRecord(record, for: name).open(with: key)
        if let sealed = try? SealedRecord.seal(record, for: name, with: key) {
            let opened = try? SealedRecord(sealed, for: name).open(with: key)
            precondition(opened == record, "a record changed by sealing it")
        }
        let file = String(decoding: bytes, as: UTF8.self)
        if let key = FileCacheName.key(file, group: group) {
            precondition((try? FileCacheName.record(key)) == file, "two names for one record")
        }
    }
}
