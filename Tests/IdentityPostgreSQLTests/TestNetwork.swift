// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// Hosts with a network of their own, for one test. They end with this object.
final class TestNetwork: Sendable {
    let directory = "/tmp/identity-postgresql-network-\(UUID().uuidString)"

    /// Makes hosts with these names.
    init(_ hosts: [String]) throws {
        do {
            try run(["up", directory] + hosts)
        } catch {
            _ = try? run(["down", directory])
            throw error
        }
    }

    deinit {
        _ = try? run(["down", directory])
        try? FileManager.default.removeItem(atPath: directory)
    }

    static let isPossible = clusterScript != nil && geteuid() == 0

    /// The place of a server on a host, as ``TestServer`` takes it.
    func place(_ host: String) throws -> [String] {
        [try value("ADDRESS", of: host), "5432", try value("NAMESPACE", of: host)]
    }

    /// The command that starts a program on a host.
    func entering(_ host: String) throws -> [String] {
        ["/usr/bin/nsenter", "--target", try value("PID", of: host), "--net", "--pid", "--uts", "--mount", "--"]
    }

    /// Lets a port of the loopback interface be the same on all of these hosts.
    func relay(_ port: Int, to hosts: [String]) throws { try run(["relay", directory, "\(port)"] + hosts) }

    func cut(_ host: String) throws { try run(["cut", directory, host]) }
    func join(_ host: String) throws { try run(["join", directory, host]) }

    private func value(_ name: String, of host: String) throws -> String {
        let text = try String(contentsOfFile: "\(directory)/\(host)", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(name)=") })
        return String(line.dropFirst(name.count + 1))
    }

    @discardableResult
    private func run(_ words: [String]) throws -> String {
        let script = URL(fileURLWithPath: try #require(clusterScript)).deletingLastPathComponent().path + "/network"
        return try TestServer.command([script] + words)
    }
}
