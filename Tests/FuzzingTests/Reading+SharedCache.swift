// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

@testable import IdentityClient
@testable import IdentityMSALCaches

extension Reading {
    /// A file or keyring item of other programs. An account is changed, and everything else stays.
    static func sharedCache(_ bytes: [UInt8]) {
        let client: ClientID = "11111111-2222-3333-4444-555555555555"
        guard let content = try? MSALItemContent(parsing: bytes, usesBase64: false, of: client) else { return }
        let root = content.reading.blob.root
        for (name, record) in content.reading.records {
            guard let group = try? CacheGroup("fuzzing") else { preconditionFailure("a name that is valid is refused") }
            let key = CacheKey(group: group, kind: .account, name: name)
            let rule: (String) -> ScopeRule = { Authority.scopeRule(forPartition: $0) }
            guard var credentials = try? AccountCredentials(decoding: record.bytes, rule: rule) else {
                preconditionFailure("an account that was read is no record")
            }
            precondition(credentials.encoded() == record.bytes, "a record changed by reading it")
            if let same = try? content.replacing(record, with: credentials, for: key) {
                precondition(same.secret == content.secret, "an account that stays was written")
            }
            credentials.refreshToken?.secret = "another"
            credentials.refreshToken?.modifiedAt = 253_402_300_799  // the latest that is read
            let changes: [AccountCredentials?] = [credentials, nil]
            // A section that is no object forbids writing.
            for new in changes {
                guard let changed = try? content.replacing(record, with: new, for: key) else { continue }
                let parsed = try? MSALItemContent(parsing: changed.secret, usesBase64: false, of: client)
                precondition(parsed?.reading.blob == changed.reading.blob, "what was written is read otherwise")
                let found = changed.reading.accounts[name]?.credentials.refreshToken?.secret
                precondition(found == new?.refreshToken?.secret, "another refresh token counts than was written")
                for member in root.members where MSALBlob.Section(rawValue: member.name) == nil {
                    guard member.name != "swift-identity-client" else { continue }
                    let value = changed.reading.blob.root[member.name]
                    precondition(value == member.value, "an unknown member was changed")
                }
            }
        }
    }
}
