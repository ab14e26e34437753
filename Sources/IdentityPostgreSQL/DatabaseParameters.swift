// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import Glibc
import OAuthWire
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
    /// - Throws: `DatabaseProblem.library`, `.parameters`, `.noAuthorities`.
    init(_ string: String) throws {
        var reason: UnsafePointer<CChar>?
        guard unsafe cpostgresql_load("libpq.so.5", &reason) else {
            throw DatabaseProblem.library(unsafe reason.map { unsafe String(cString: $0) } ?? "unknown reason")
        }
        let given = try Self.given(string)
        let whole = Self.whole(string)
        self.string = string
        secrets = ["password", "sslpassword"].compactMap { whole[$0] }
        let (hosts, addresses) = (Self.list(whole["host"]), Self.list(whole["hostaddr"]))
        let servers = Self.servers(hosts: hosts, addresses: addresses, ports: Self.list(whole["port"]))
        // libpq does not tell its default from a service file's "prefer", which counts as the default then.
        let saysHow =
            given["sslmode"] != nil || SystemCall.environment("PGSSLMODE") != nil || whole["sslmode"] != "prefer"
        let areRemote = Self.areRemote(hosts: hosts, addresses: addresses)
        let tls = try saysHow || !areRemote.contains(true) ? [] : Self.verifiedTLS(whole)
        self.servers = servers.indices.map { index in
            servers.count == 1 || areRemote[index] ? servers[index] + tls : servers[index]
        }
    }

    /// Whether each server is reached over a network: by anything but a socket and a literal address of this computer.
    static func areRemote(hosts: [String], addresses: [String]) -> [Bool] {
        (0..<max(hosts.count, addresses.count)).map { index in
            let address = index < addresses.count ? addresses[index] : ""
            let place = address.isEmpty && index < hosts.count ? hosts[index] : address
            var bytes = in_addr()
            let isAddress = unsafe inet_pton(AF_INET, place, &bytes) == 1
            let isHere = place == "::1" || isAddress && place.hasPrefix("127.")
            return !place.isEmpty && !place.hasPrefix("/") && !place.hasPrefix("@") && !isHere
        }
    }

    /// TLS with a server whose certificate has its name, from an authority that the program or the system knows.
    private static func verifiedTLS(_ whole: [String: String]) throws -> Choice {
        let mode: Choice = [("sslmode", "verify-full")]
        let home = SystemCall.environment("HOME") ?? SystemCall.home(ofUser: SystemCall.effectiveUser) ?? ""
        let isOfAPerson = unsafe access(home + "/.postgresql/root.crt", F_OK) == 0
        if whole["sslrootcert"]?.isEmpty == false || isOfAPerson { return mode }
        let version = cpostgresql_version()
        guard version >= 160_000 else { throw DatabaseProblem.noAuthorities("\(version / 10_000)") }
        return mode + [("sslrootcert", "system")]
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

    /// Returns a reason of libpq in printable ASCII and at most 300 bytes. If it repeats a password, which libpq never does by
    /// itself, nothing of it: a mask in a reason that a reader can guess shows what it hides.
    func cleaned(_ reason: String) -> String {
        let separators: (UInt8) -> Bool = { " \n\"'(),:".utf8.contains($0) }
        let words = reason.utf8.split(whereSeparator: separators).map { Array($0) }
        let repeats = secrets.contains { secret in
            // The letters of a short password are in many words.
            secret.utf8.count < 8 ? words.contains(Array(secret.utf8)) : reason.contains(secret)
        }
        return repeats ? "libpq's own words are left out" : Self.printable(reason.utf8.prefix(300))
    }

    static func printable(_ text: some Sequence<UInt8>) -> String {
        Array(text).split { !$0.isVisible }.map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: " ")
    }

    /// Returns what the string itself has.
    private static func given(_ string: String) throws -> [String: String] {
        var found: [String: String] = [:]
        var words: UnsafeMutablePointer<CChar>?
        let isRead = unsafe withUnsafeMutablePointer(to: &found) { found in
            unsafe !string.utf8.contains(0) && cpostgresql_given(string, note, found, &words)
        }
        defer { unsafe cpostgresql_free_text(words) }
        guard !isRead else { return found }
        // A password with a space or a quotation mark may be what libpq stumbles over.
        let isSecret = string.utf8.contains(UInt8(ascii: "@")) || string.contains("pass")
        let text = unsafe words.map { unsafe Array(String(cString: $0).utf8) } ?? []
        let parts = text.split(separator: UInt8(ascii: "\""))
        let key = parts.dropFirst().first { $0.allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x5f } }
        throw DatabaseProblem.parameters(isSecret ? nil : key.map { String(decoding: $0, as: UTF8.self) })
    }

    /// Returns what a connection would have, by the string, the variables and the service file.
    private static func whole(_ string: String) -> [String: String] {
        var found: [String: String] = [:]
        unsafe withUnsafeMutablePointer(to: &found) { unsafe cpostgresql_whole(string, note, $0) }
        return found
    }

    private static let note:
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?
        ) -> Void = { data, keyword, value in
            guard let data = unsafe data, let keyword = unsafe keyword, let value = unsafe value else { return }
            let found = unsafe data.assumingMemoryBound(to: [String: String].self)
            unsafe found.pointee[String(cString: keyword)] = String(cString: value)
        }
}
