// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTestSupport
import Synchronization
import SystemSupport
import Testing

@testable import IdentityPostgreSQL

/// The parameters of connections, without a server.
@Suite struct DatabaseParametersTests {
    @Test(
        arguments: [
            (["a"], [], ["5432"], [""]),
            ([], [], [], [""]),
            (["a", "b"], [], [], ["host=a", "host=b"]),
            (["a", "b"], [], ["1"], ["host=a port=1", "host=b port=1"]),
            (
                ["a", "b"], ["1.1.1.1", "2.2.2.2"], ["1", "2"],
                [
                    "host=a hostaddr=1.1.1.1 port=1", "host=b hostaddr=2.2.2.2 port=2",
                ]
            ),
            (["a", ""], [], [], [""]),
            (["a", "b"], ["1.1.1.1"], [], [""]),
            (["a", "b"], [], ["1", "2", "3"], [""]),
        ] as [([String], [String], [String], [String])]
    )
    func namesEachServer(_ hosts: [String], _ addresses: [String], _ ports: [String], _ expected: [String]) {
        let servers = DatabaseParameters.servers(hosts: hosts, addresses: addresses, ports: ports)
        #expect(servers.map { $0.map { "\($0.keyword)=\($0.value)" }.joined(separator: " ") } == expected)
    }

    @Test(.enabled(if: hasLibrary, "libpq is not installed"))
    func readsStringsAsLibpqDoes() throws {
        let parameters = try DatabaseParameters(
            "host=a,b port=1,2 password='hunter2 x' target_session_attrs=primary sslmode=require"
        )
        #expect(parameters.servers.count == 2)
        let all = parameters.all(of: parameters.servers[1])
        // A later parameter stands above an earlier one.
        let places = ["target_session_attrs", "dbname", "host"].map { name in
            all.firstIndex { $0.keyword == name } ?? -1
        }
        #expect(places == places.sorted() && places[0] >= 0)
        #expect(try DatabaseParameters("postgresql://u:p@h1:1,h2:2/tokens?sslmode=require").servers.count == 2)
        let malformed = [
            ("host", "host"), ("nonsense=1", "nonsense"), ("host=a\0b", nil), ("host='a", nil),
            // What libpq stumbles over may be part of a password.
            ("password=two words", nil), ("hots=db password=x", nil), ("postgresql://u:p@h?nonsense=1", nil),
        ]
        for (string, key) in malformed {
            #expect(throws: DatabaseProblem.parameters(key), "\(string)") { try DatabaseParameters(string) }
        }
        let error = DatabaseProblem.parameters("hots").error(for: .standard)
        #expect(error.message.contains("malformed at \"hots\"."))
    }

    @Test(.enabled(if: hasLibrary, "libpq is not installed"))
    func cleansReasonsOfSecretsAndOfWhatATerminalObeys() throws {
        let parameters = try DatabaseParameters("host=a sslmode=require password=hunter2")
        #expect(parameters.cleaned("host \"hunter2\" fails") == "libpq's own words are left out")
        #expect(parameters.cleaned("the host\u{1b}[2J\u{202e} fails\n\"ü\"") == "the host [2J fails \" \"")
        #expect(parameters.cleaned(String(repeating: "x", count: 1000)).utf8.count == 300)
        // A mask in words that everyone knows would show the password.
        let short = try DatabaseParameters("host=a sslmode=require password=w")
        #expect(short.cleaned("Name or service not known") == "Name or service not known")
        let long = try DatabaseParameters("host=a sslmode=require password='long enough'")
        #expect(long.cleaned("no along enoughx") == "libpq's own words are left out")
    }

    /// The parameters that a string's servers get for TLS, one text for each server.
    private static func security(_ string: String) throws -> [String] {
        try DatabaseParameters(string).servers.map { server in
            server.filter { $0.keyword.hasPrefix("ssl") }.map { "\($0.keyword)=\($0.value)" }.joined(separator: " ")
        }
    }

    @Test(
        .enabled(if: hasLibrary, "libpq is not installed"),
        arguments: [
            ("host=db", ["sslmode=verify-full"]), ("host=localhost", ["sslmode=verify-full"]),
            ("postgresql://u:p@db/tokens", ["sslmode=verify-full"]),
            // A name that looks like an address of this computer is looked up.
            ("host=127.evil.example", ["sslmode=verify-full"]), ("host=127.1", ["sslmode=verify-full"]),
            ("host=127.0.0.1 hostaddr=10.0.0.1", ["sslmode=verify-full"]), ("host=10.0.0.1", ["sslmode=verify-full"]),
            ("", [""]), ("host=/run/postgresql", [""]), ("host=@socket", [""]), ("host=127.8.0.1", [""]),
            ("host=::1", [""]), ("host=db hostaddr=127.0.0.1", [""]),
            ("host=/run/postgresql,db,127.0.0.1", ["", "sslmode=verify-full", ""]),
            ("host=a,b hostaddr=10.0.0.1,127.0.0.1", ["sslmode=verify-full", ""]),
            ("host=db sslmode=disable", [""]), ("host=db sslmode=prefer", [""]), ("host=db sslmode=require", [""]),
            ("postgresql://db/tokens?sslmode=allow", [""]),
        ]
    )
    func verifiesEachServerThatIsElsewhere(_ string: String, _ expected: [String]) throws {
        let authority = string.contains("://") ? string.contains("?") ? "&" : "?" : " "
        #expect(try Self.security("\(string)\(authority)sslrootcert=/ca.pem") == expected)
    }

    @Test(.enabled(if: hasLibrary, "libpq is not installed"))
    func letsVariablesAndServiceFilesChooseAnotherMode() async throws {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let file = "\(directory.path)/services"
            let services =
                "[weak]\nhost=db\nsslmode=require\n[two]\nhost=db,127.0.0.1\n[mute]\nhost=db\nsslmode=prefer\n"
            try Data(services.utf8).write(to: URL(fileURLWithPath: file))
            unsafe setenv("PGSERVICEFILE", file, 1)
            let authority = "sslrootcert=/ca.pem"
            #expect(try Self.security("service=weak \(authority)") == [""])
            #expect(try Self.security("service=two \(authority)") == ["sslmode=verify-full", ""])
            // Which of both it is, libpq does not tell.
            #expect(try Self.security("service=mute \(authority)") == ["sslmode=verify-full"])
            #expect(try Self.security("service=unknown \(authority)") == [""])
            unsafe setenv("PGHOST", "db", 1)
            #expect(try Self.security(authority) == ["sslmode=verify-full"])
            unsafe setenv("PGSSLMODE", "prefer", 1)
            #expect(try Self.security("") == [""])
        }
    }

    /// Before libpq 16, which finds the system's authorities, a program has to name one.
    @Test(.enabled(if: hasLibrary, "libpq is not installed"))
    func needsAnAuthority() async throws {
        await #expect(processExitsWith: .success) {
            let home = try TemporaryDirectory()
            unsafe setenv("HOME", home.path, 1)
            do {
                #expect(try Self.security("host=db") == ["sslmode=verify-full sslrootcert=system"])
            } catch DatabaseProblem.noAuthorities(let version) {
                #expect(try #require(Int(version)) < 16)
            }
            let lines = DatabaseProblem.noAuthorities("15").error(for: .standard).message.split(separator: "\n")
            #expect(lines.dropFirst().map { $0.prefix(8) } == ["sslrootc", "sslrootc", "sslmode="])
            let folder = "\(home.path)/.postgresql"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data().write(to: URL(fileURLWithPath: "\(folder)/root.crt"))
            #expect(try Self.security("host=db") == ["sslmode=verify-full"])
        }
    }

    /// A server that has no TLS and asks for the password in clear text.
    @Test(.enabled(if: hasLibrary, "libpq is not installed"), .timeLimit(.minutes(1)))
    func tellsAServerWithoutTLSNothing() async throws {
        let heard = Mutex<[UInt8]>([])
        let listener = try Listener()
        listener.start { program in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let answers: [[UInt8]] = [Array("N".utf8), Array("R".utf8) + [0, 0, 0, 8, 0, 0, 0, 3]]
            for answer in answers {
                guard case .bytes(let count) = program.receive(into: &buffer) else { return }
                heard.withLock { $0 += buffer[..<count] }
                guard case .bytes = program.send(answer[...]) else { return }
            }
            if case .bytes(let count) = program.receive(into: &buffer) { heard.withLock { $0 += buffer[..<count] } }
        }
        let place = "host=localhost port=\(listener.port) user=worker password=hunter2 sslrootcert=/ca.pem"
        let key = try randomKey()
        let error = try await authenticationError {
            try await PostgreSQLTokenCache(connectionString: place).record(for: key)
        }
        #expect(error.code == .cache && error.message.contains("verify-full unless"), "\(error.message)")
        #expect(!"\(error) \(error.message)".contains("hunter2"))
        // Nothing but the questions for TLS.
        #expect(heard.withLock { $0.count.isMultiple(of: 8) && !$0.isEmpty && !$0.contains(UInt8(ascii: "w")) })
    }

    static let hasLibrary = (try? DatabaseParameters("")) != nil
}

/// The statements that an administrator runs.
@Suite struct TableTests {
    @Test func standInTheArticle() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "Sources/IdentityPostgreSQL/IdentityPostgreSQL.docc")
        let article = try String(contentsOf: folder.appending(path: "IdentityPostgreSQL.md"), encoding: .utf8)
        let table = try PostgreSQLTokenCache.Table("tokens", schema: "identity")
        #expect(article.contains("\n\(table.definition)\n\(table.grants(to: "worker"))\n```\n"))
    }
}

/// The texts of notifications, which any role may send.
@Suite struct ToldTests {
    @Test func readsWhatAChangeSends() throws {
        let key = try randomKey()
        let told = try #require(Told(Told.text(key, write: [0, 0x1f, 0xff]), in: key.group))
        #expect(told.key == key && told.write == [0, 0x1f, 0xff])
        let removal = try #require(Told(Told.text(key, write: nil), in: key.group))
        #expect(removal.key == key && removal.write.isEmpty)
    }

    @Test(arguments: [
        "", "account", "account a", "account a 1", "account a zz", "a b c d", "account \u{1b} ", " a ", "ä a 00",
    ])
    func readsNothingElse(_ text: String) throws {
        #expect(Told(text, in: try randomKey().group) == nil)
    }
}
