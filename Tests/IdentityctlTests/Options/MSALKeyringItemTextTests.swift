// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityKeyring
import IdentityMSALKeyring
import Testing

@testable import identityctl

/// The keyring items of other programs, as a command line names them.
@Suite struct MSALKeyringItemTextTests {
    private func item(_ text: String) throws -> MSALKeyringItem {
        let choice = try CacheChoice(Given(text: "msal-keyring:" + text, origin: "--cache"), home: "/home/a")
        guard case .sharedItem(let item) = choice else {
            Issue.record("It is another cache: \(choice)")
            return .readOnly(schema: nil, attributes: [:])
        }
        return item
    }

    @Test(
        arguments: [
            ("git-credential-manager", .azureIdentityDotNet), ("azure-identity-python", .azureIdentityPython),
            ("xdg:schema=s,a=b=c,d=", .readOnly(schema: "s", attributes: ["a": "b=c", "d": ""])),
            (
                "python:xdg:schema=s,a=b,file=~/t,x",
                .python(file: "/home/a/t,x", schema: "s", attributes: ["a": "b"], label: "MSALCache")
            ),
            ("python:file=/t", .python(file: "/t", label: "MSALCache")),
            (
                "dotnet:xdg:schema=s,a=b,c=d,file=/t",
                .dotNet(file: "/t", schema: "s", attributes: ["a": "b", "c": "d"], label: "MSALCache")
            ),
            ("node:service=s,account=a,file=/t", .node(file: "/t", service: "s", account: "a")),
        ] as [(String, MSALKeyringItem)]
    )
    func readsAnItem(_ text: String, _ expected: MSALKeyringItem) throws {
        #expect(try item(text) == expected)
    }

    @Test(
        arguments: [
            ("kwallet", "'kwallet' is no item"), ("a=b,a=c", "'a' is there twice"), ("=b", "is no item"),
            ("a=b,", "is no item"),
            ("python:a=b", "python: needs the file"), ("python:a=b,file=", "python: needs the file"),
            ("python:a=b,file=t", "another place wherever"), ("dotnet:a=b,file=/t", "needs the item's schema"),
            ("node:service=s,file=/t", "needs service=NAME and account=NAME"),
            ("node:service=s,account=a,b=c,file=/t", "and nothing else"),
        ]
    )
    func saysWhatIsWrong(_ text: String, _ message: String) {
        let error = #expect(throws: UsageError.self) { try item(text) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.message.hasPrefix("--cache: ") == true)
    }
}
