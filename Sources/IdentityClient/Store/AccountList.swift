// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The accounts of one provider, each once and sorted by username. The views of several clients and policies of the
/// same person are merged.
struct AccountList: Sendable {
    private let scope: String
    private var views: [Account.ID: [CredentialSnapshot]] = [:]
    private(set) var accounts: [Account] = []

    init(_ snapshots: some Sequence<CredentialSnapshot>, inScope scope: String) {
        self.scope = scope
        for snapshot in snapshots where covers(snapshot) { views[snapshot.account.id, default: []].append(snapshot) }
        accounts = views.values.map(Self.merged).sorted(by: Self.precedes)
    }

    /// Replaces `old` with `new`, at the cost of two searches in the sorted list.
    mutating func replace(_ old: CredentialSnapshot?, with new: CredentialSnapshot?) {
        if let old, covers(old) { change(old.account.id) { $0.removeAll { $0.key == old.key } } }
        if let new, covers(new) { change(new.account.id) { $0.append(new) } }
    }

    private func covers(_ snapshot: CredentialSnapshot) -> Bool {
        Authority.accountScope(ofPartition: snapshot.credentials.partition) == scope
    }

    private mutating func change(_ id: Account.ID, _ change: (inout [CredentialSnapshot]) -> Void) {
        var known = views[id] ?? []
        if !known.isEmpty { accounts.remove(at: place(of: Self.merged(known))) }
        change(&known)
        views[id] = known.isEmpty ? nil : known
        guard !known.isEmpty else { return }
        let account = Self.merged(known)
        accounts.insert(account, at: place(of: account))
    }

    /// The position of an account, or the position to insert it at.
    private func place(of account: Account) -> Int {
        var range = accounts.indices
        while let middle = range.isEmpty ? nil : range.lowerBound + range.count / 2 {
            range =
                Self.precedes(accounts[middle], account)
                ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Compares identifiers by their bytes. If `<` took two different identifiers for equal, the search would find the
    /// wrong account.
    private static func precedes(_ first: Account, _ second: Account) -> Bool {
        let (name, other) = (first.username ?? "", second.username ?? "")
        return name == other ? first.id.rawValue.utf8.lexicographicallyPrecedes(second.id.rawValue.utf8) : name < other
    }

    /// Merges in a fixed order, so that the value stays the same while the records do.
    private static func merged(_ views: [CredentialSnapshot]) -> Account {
        guard views.count > 1 else { return views[0].account }
        let views = views.sorted {
            ($0.account.homeAccountID, $0.key.name) < ($1.account.homeAccountID, $1.key.name)
        }.map(\.account)
        var profiles: [TenantProfile] = []
        for profile in views.flatMap(\.tenantProfiles)
        where !profiles.contains(where: { $0.tenantID == profile.tenantID && $0.policy == profile.policy }) {
            profiles.append(profile)
        }
        return Account(
            id: views[0].id,
            environment: views[0].environment,
            username: views.lazy.compactMap(\.username).first,
            homeAccountID: views[0].homeAccountID,
            tenantProfiles: profiles
        )
    }
}
