// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension IntegratedTool {
    static let netrc = IntegratedTool(name: "netrc", asks: .profile) { LinesIntegration.netrc(in: $0) }
}

extension LinesIntegration {
    /// Programs that look for a password by a host: curl, git, pip, wget and others show the forwarder's phantom. The forwarder passes
    /// over the name, which tells the profile here.
    fileprivate static func netrc(in home: Home) -> LinesIntegration {
        let machine = ["machine", "127.0.0.1"]
        return LinesIntegration(
            tool: .netrc,
            home: home,
            link: nil,
            path: home.environment["NETRC"] ?? "\(home.path)/.netrc",
            lines: { subject in
                guard let (lines, record) = try home.route(of: subject.profile?.text) else {
                    throw UsageError("The agent has the profiles. Name one of this machine, without IDENTITYCTL_AGENT.")
                }
                let line = "machine 127.0.0.1 login \(lines.name) password \(record.phantom)"
                let url = ForwardPlace.url(of: lines, at: record.port)
                return ([line], ["Programs take \(url) in place of \(lines.address.text)"])
            },
            conflicts: { other, _ in other.split(separator: " ").starts(with: machine.map { $0[...] }) },
            use: { line in
                let words = line.split(separator: " ").map(String.init)
                guard words.starts(with: machine), words.count == 6 else { return nil }
                var use = IntegrationUse(label: words[1], profile: words[3])
                if let found = try? home.route(of: words[3]), found.record.phantom != words[5] {
                    use.obstacle = "The forwarder has another phantom."
                }
                return use
            },
            replacesSameUse: true
        )
    }
}

extension Home {
    /// Returns the lines of a profile about its forwarder, and what is kept of it; `nil` without a profile.
    fileprivate func route(of profile: String?) throws -> (lines: ForwardLines, record: ForwardRecord)? {
        guard let name = profile.flatMap({ ProfileName($0) }) else { return nil }
        let directory = try ProfileDirectory(environment)
        guard let lines = try ForwardLines(directory.profile(named: name)) else {
            throw UsageError(ForwardRunCommand.hasNoLine(name))
        }
        return (lines, try ForwardRecord.kept(for: lines, in: directory))
    }
}
