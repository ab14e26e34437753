// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension IntegratedTool {
    static let ssh = IntegratedTool(name: "ssh", asks: .host) { SSHIntegration(home: $0) }
}

/// SSH brings the forwarder's sockets to a host, where programs then use an API without a token.
///
/// - SeeAlso: ssh_config(5), `RemoteForward`
struct SSHIntegration: Integration {
    let home: Home

    private static let (directive, end) = ("    RemoteForward ", "Match all")

    var link: HelperLink? { nil }

    private var path: String { "\(home.path)/.ssh/config" }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        guard let host = subject.host else { return IntegrationPlan(changes: []) }
        let file = try ConfigFile(path)
        var content = try MarkedLines(file, of: IntegratedTool.ssh.name)
        let known = String(decoding: try await home.run(["ssh", "-G", host]), as: UTF8.self).split(separator: "\n")
        let missing = try sockets(subject.profile).filter { socket in
            !known.contains { $0.hasPrefix("remoteforward ") && $0.hasSuffix(" \(socket.path)") }
        }
        guard !missing.isEmpty else { return IntegrationPlan(changes: []) }
        let directory = try await directory(on: host)
        let added = missing.map { "\(directory)/identityctl-\($0.name).sock \($0.path)" }
        var blocks = Self.blocks(content.lines)
        let index = blocks.firstIndex { $0.host == host }
        if let index { blocks[index].forwards += added } else { blocks.append((host, added)) }
        content.lines = Self.lines(blocks)
        let socket = "\(directory)/identityctl-\(missing[0].name).sock"
        return IntegrationPlan(
            changes: [.write(file, content.bytes, "for \(host), add RemoteForward \(added.joined(separator: "; "))")],
            notes: [
                "The server's sshd_config needs 'StreamLocalBindUnlink yes', or the next connection finds the name taken.",
                "Use it there: identityctl exec --forward-at \(socket) --forward http -- PROGRAM",
            ]
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var content = try MarkedLines(file, of: IntegratedTool.ssh.name)
        let before = Self.blocks(content.lines)
        let after = before.map { block in
            let kept = block.forwards.filter { forward in
                guard let subject else { return false }
                let isOfAnother = subject.profile.map { $0.text != Self.profile(of: forward) } ?? false
                return isOfAnother || subject.host ?? block.host != block.host
            }
            return (host: block.host, forwards: kept)
        }.filter { !$0.forwards.isEmpty }
        let lines = Self.lines(after)
        guard lines != content.lines else { return IntegrationPlan(changes: []) }
        content.lines = lines
        let hosts = before.map(\.host).filter { host in !after.contains { $0.host == host } }
        let summary = "remove the forwarder's sockets\(hosts.isEmpty ? "" : " of \(hosts.joined(separator: ", "))")"
        return IntegrationPlan(changes: [.write(file, content.bytes, summary)])
    }

    func uses() async throws -> [IntegrationUse] {
        let content = try MarkedLines(try ConfigFile(path), of: IntegratedTool.ssh.name)
        return Self.blocks(content.lines).flatMap { block in
            block.forwards.map { forward in
                let name = Self.profile(of: forward)
                var use = IntegrationUse(label: block.host, profile: name, options: [block.host])
                let sockets = (try? self.sockets(name.flatMap { ProfileName($0) })) ?? []
                if sockets.allSatisfy({ !forward.hasSuffix(" \($0.path)") }) {
                    use.problem =
                        "No profile's forwarder has this socket. Run: identityctl integrate ssh \(block.host) --undo"
                }
                return use
            }
        }
    }

    /// The sockets of the routes on this machine.
    private func sockets(_ profile: ProfileName?) throws -> [(name: String, path: String)] {
        let directory = try ProfileDirectory(home.environment)
        let routes = try (profile.map { [$0] } ?? directory.names()).filter { name in
            guard try ForwardLines(directory.profile(named: name)) == nil else { return true }
            guard profile == nil else { throw UsageError(ForwardRunCommand.hasNoLine(name)) }
            return false
        }
        guard !routes.isEmpty else { throw UsageError(ForwardRunCommand.noLine) }
        return try routes.map { ($0.text, try ForwardPlace.socket(of: $0, home.environment)) }
    }

    /// The directory that the host makes for each person's session.
    private func directory(on host: String) async throws -> String {
        let command = #"printf %s "${XDG_RUNTIME_DIR:-/run/user/$(id -u)}""#
        let text = String(decoding: try await home.run(["ssh", "-o", "BatchMode=yes", host, command]), as: UTF8.self)
        guard text.hasPrefix("/"), text.utf8.areVisible else {
            throw SystemFailure("\(host.printable) has no directory for sockets: it says '\(text.printable)'.")
        }
        return text
    }

    private static func profile(of forward: String) -> String? {
        forward.split(separator: "/").last.flatMap { $0.hasSuffix(".sock") ? String($0.dropLast(5)) : nil }
    }

    private static func blocks(_ lines: [String]) -> [(host: String, forwards: [String])] {
        lines.reduce(into: []) { blocks, line in
            if line.hasPrefix("Host ") {
                blocks.append((String(line.dropFirst("Host ".utf8.count)), []))
            } else if line.hasPrefix(directive), !blocks.isEmpty {
                blocks[blocks.count - 1].forwards.append(String(line.dropFirst(directive.utf8.count)))
            }
        }
    }

    /// The lines after these are for all hosts again.
    private static func lines(_ blocks: [(host: String, forwards: [String])]) -> [String] {
        let lines = blocks.flatMap { block in ["Host \(block.host)"] + block.forwards.map { directive + $0 } }
        return lines.isEmpty ? [] : lines + [end]
    }
}
