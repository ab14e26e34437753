// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The name that is proposed for a profile.
enum ProposedName {
    /// Returns a name for a profile of a provider or an API: that of the preset with its host, or else the host, with a number
    /// where `names` has it already. Returns `nil` for a text without a host that can be a name.
    static func name(for address: String, besides names: [ProfileName]) -> ProfileName? {
        guard let host = WebAddress(address)?.host else { return nil }
        let plain = Preset.all.first { $0.isUsual(at: host) }?.name ?? host
        return (1...names.count + 1).lazy.compactMap { ProfileName($0 == 1 ? plain : "\(plain)-\($0)") }
            .first { !names.contains($0) }
    }
}

extension Preset {
    /// Whether the preset names a provider at this host without a domain.
    func isUsual(at host: String) -> Bool {
        guard !needsDomain, let lines = try? lines(domain: nil) else { return false }
        return lines.contains { !$0.name.hasPrefix("redirect-") && WebAddress($0.value)?.host == host }
    }
}
