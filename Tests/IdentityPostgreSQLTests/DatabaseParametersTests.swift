// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
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
        let parameters = try DatabaseParameters("host=a,b port=1,2 password='hunter2 x' target_session_attrs=primary")
        #expect(parameters.servers.count == 2)
        let all = parameters.all(of: parameters.servers[1])
        // A later parameter stands above an earlier one.
        let places = ["target_session_attrs", "dbname", "host"].map { name in
            all.firstIndex { $0.keyword == name } ?? -1
        }
        #expect(places == places.sorted() && places[0] >= 0)
        #expect(try DatabaseParameters("postgresql://u:p@h1:1,h2:2/tokens").servers.count == 2)
        for malformed in ["host", "nonsense=1", "host='a", "host=a\0b"] {
            #expect(throws: DatabaseProblem.parameters) { try DatabaseParameters(malformed) }
        }
    }

    @Test(.enabled(if: hasLibrary, "libpq is not installed"))
    func cleansReasonsOfSecretsAndOfWhatATerminalObeys() throws {
        let parameters = try DatabaseParameters("host=a password=hunter2")
        #expect(parameters.cleaned("the hunter2\u{1b}[2J\u{202e} fails\n\"ü\"") == "the *** [2J fails \" \"")
        #expect(parameters.cleaned(String(repeating: "x", count: 1000)).utf8.count == 300)
    }

    static let hasLibrary = (try? DatabaseParameters("")) != nil
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
