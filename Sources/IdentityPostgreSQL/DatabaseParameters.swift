// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import SystemSupport

/// The parameters of connections, as libpq reads them: a connection string, `PG*` variables, a service file.
struct DatabaseParameters: Sendable {
    /// Parameters by their keywords in libpq.
    typealias Choice = [(keyword: String, value: String)]

    /// One server each, if several are named. They are tried one after the other here, because a server that does not
    /// answer would keep libpq's own attempt from the next one for as long as the caller waits.
    let servers: [Choice]
    private let string: String
    private let secrets: [String]

    /// Loads libpq, and reads the names of servers.
    /// - Throws: `DatabaseProblem.library`, `.parameters`.
    init(_ string: String) throws {
        var reason: UnsafePointer<CChar>?
        guard unsafe cpostgresql_load("libpq.so.5", &reason) else {
            throw DatabaseProblem.library(unsafe reason.map { unsafe String(cString: $0) } ?? "unknown reason")
        }
        guard !string.utf8.contains(0), let given = Self.parameters(string) else { throw DatabaseProblem.parameters }
        let others = Self.parameters(nil) ?? [:]
        self.string = string
        secrets = ["password", "sslpassword"].flatMap { [given[$0], others[$0]] }.compactMap(\.self)
        // A service file that the string names may have other servers: they are libpq's own matter.
        let namesHosts = given["host"] != nil || given["hostaddr"] != nil
        let hosts = namesHosts || given["service"] != nil ? given : others
        servers = Self.servers(
            hosts: Self.list(hosts["host"]),
            addresses: Self.list(hosts["hostaddr"]),
            ports: Self.list(given["port"] ?? others["port"])
        )
    }

    private static func list(_ text: String?) -> [String] {
        text.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }

    static func servers(hosts: [String], addresses: [String], ports: [String]) -> [Choice] {
        let count = max(hosts.count, addresses.count)
        // libpq says what is wrong with lists that do not fit each other. It takes no empty value from us.
        let fits =
            (hosts.isEmpty || hosts.count == count) && (addresses.isEmpty || addresses.count == count)
            && (ports.count <= 1 || ports.count == count)
        guard count > 1, fits, !(hosts + addresses + ports).contains("") else { return [[]] }
        return (0..<count).map { index in
            var choice: Choice = []
            if !hosts.isEmpty { choice.append(("host", hosts[index])) }
            if !addresses.isEmpty { choice.append(("hostaddr", addresses[index])) }
            if let port = ports.count > 1 ? ports[index] : ports.first { choice.append(("port", port)) }
            return choice
        }
    }

    /// The parameters of a connection. A later one stands above an earlier one, also above those in the string.
    func all(of server: Choice) -> Choice {
        var own: Choice = [
            ("fallback_application_name", "swift-identity-client"),
            // A standby may lag behind, and a record that is read under a lease must be the newest.
            ("target_session_attrs", "read-write"),
            // A server that is gone is noticed within the time of a call.
            ("tcp_user_timeout", "2000"),
        ]
        // Otherwise libpq asks Kerberos first, whose library aborts a program that ends meanwhile.
        if SystemCall.environment("PGGSSENCMODE") == nil { own.append(("gssencmode", "disable")) }
        return own + [("dbname", string)] + server
    }

    /// Returns a reason of libpq without the passwords that are known, in printable ASCII and at most 300 bytes.
    func cleaned(_ reason: String) -> String {
        var text = reason
        for secret in secrets where !secret.isEmpty {
            text = text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
        }
        let words = text.utf8.prefix(300).split { !(0x21...0x7e).contains($0) }
        return words.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
    }

    /// Returns what a string has, or the environment if it is `nil`; `nil` if the string is malformed.
    private static func parameters(_ string: String?) -> [String: String]? {
        var found: [String: String] = [:]
        let isRead = unsafe withUnsafeMutablePointer(to: &found) { found in
            unsafe cpostgresql_parameters(
                string,
                { data, keyword, value in
                    guard let data = unsafe data, let keyword = unsafe keyword, let value = unsafe value else { return }
                    let found = unsafe data.assumingMemoryBound(to: [String: String].self)
                    unsafe found.pointee[String(cString: keyword)] = String(cString: value)
                },
                found
            )
        }
        return isRead ? found : nil
    }
}
