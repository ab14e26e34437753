// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityKeyring

/// The errors that the program and the person get for each failure of GLib, D-Bus, libsecret and the keyrings.
@Suite struct KeyringErrorsTests {
    typealias Code = AuthenticationError.Code

    /// The origin of each failure, its code there, the code for the program, and a part of the advice for the person.
    static let table: [(origin: String, domain: String, number: Int, name: String?, code: Code, advice: String)] = [
        // These answers of a keyring do not mean that there is no bus, which could lead to clear text.
        ("any call, a failure", "g-io-error-quark", 0, nil, .cache, "Try again"),
        ("any call, something missing", "g-io-error-quark", 1, nil, .cache, "Try again"),
        ("any call, a wrong argument", "g-io-error-quark", 13, nil, .cache, "Try again"),
        ("any call, something refused", "g-io-error-quark", 39, nil, .cache, "Try again"),
        ("connecting, a sandbox", "g-io-error-quark", 14, nil, .keyringAccessDenied, "org.freedesktop.secrets"),
        ("any call, no provider", "g-dbus-error-quark", 2, "ServiceUnknown", .keyringNoService, "gnome-keyring"),
        ("any call, no provider", "g-dbus-error-quark", 3, "NameHasNoOwner", .keyringNoService, "KeePassXC"),
        ("starting it, no program", "g-dbus-error-quark", 0, "Spawn.ExecFailed", .keyringNoService, "KWallet"),
        ("libsecret, no provider", "g-dbus-error-quark", 2, nil, .keyringNoService, "gnome-keyring"),
        ("any call, AppArmor or a proxy", "g-dbus-error-quark", 9, "AccessDenied", .keyringAccessDenied, "--talk-name"),
        ("libsecret, a proxy", "g-dbus-error-quark", 9, nil, .keyringAccessDenied, "password-manager-service"),
        ("any call, silence", "g-io-error-quark", 24, nil, .keyringTimedOut, "restart it"),
        ("any call, the bus gave up", "g-dbus-error-quark", 20, "Timeout", .keyringTimedOut, "restart it"),
        ("any call, 128 unanswered", "g-dbus-error-quark", 8, "LimitsExceeded", .keyringTimedOut, "restart it"),
        ("GNOME Keyring, a read", "g-io-error-quark", 36, "Secret.IsLocked", .keyringLocked, "Unlock it"),
        // An object that is missing is no proof of a keyring without collections, which could lead to clear text.
        ("a write without a collection", "g-dbus-error-quark", 19, "UnknownMethod", .cache, "Try again"),
        ("any call, an unknown object", "g-dbus-error-quark", 41, "UnknownObject", .cache, "Try again"),
        ("GNOME Keyring, a missing item", "g-io-error-quark", 36, "Secret.NoSuchObject", .cache, "Try again"),
        ("the daemon ended", "g-dbus-error-quark", 4, "NoReply", .cache, "Try again"),
        ("the daemon was started anew", "g-io-error-quark", 36, "Secret.NoSession", .cache, "Try again"),
        ("the bus ended", "g-io-error-quark", 18, nil, .cache, "Try again"),
        ("something new", "somebody-else", 99, nil, .cache, "Try again"),
    ]

    @Test(arguments: table.indices) func isTranslated(_ row: Int) throws {
        let row = Self.table[row]
        let name = row.name.map {
            $0.hasPrefix("Secret.")
                ? "org.freedesktop.Secret.Error." + $0.dropFirst(7) : "org.freedesktop.DBus.Error." + $0
        }
        let failure = GLibFailure(domain: row.domain, code: row.number, name: name, message: "in English")
            .during("Service.SearchItems", of: "gnome-keyring-d")
        let error = try #require(AuthenticationError.fromKeyring(failure) as? AuthenticationError)
        #expect(error.code == row.code, "\(row.origin)")
        #expect(error.message.contains(row.advice), "\(row.origin): \(error.message)")
        #expect(AuthenticationError.Code.cache ~= error.code)
        let cause = try #require(error.underlyingError as? GLibFailure)
        #expect(cause.operation == "Service.SearchItems" && cause.provider == "gnome-keyring-d")
        let origin = "\(name ?? "\(row.domain) \(row.number)"), Service.SearchItems, gnome-keyring-d"
        #expect(cause.description == "in English (\(origin))")
    }

    @Test(arguments: [("libgio-2.0.so.0", "libglib2.0-0"), ("libsecret-1.so.0", "libsecret-1-0")])
    func namesThePackageOfEachLibrary(library: String, package: String) {
        for problem in [LibraryProblem.unloadable(library, reason: "no such file"), .unsuitable(library)] {
            let message = (AuthenticationError.fromKeyring(problem) as? AuthenticationError)?.message ?? ""
            #expect(message.contains(library) && message.contains("apt install \(package))"), "\(message)")
        }
    }

    /// If the session's own bus may be hidden by an old address, its keyring is not absent.
    @Test(arguments: [nil, "/run/user/1/bus"]) func namesTheVariableOfAnOldAddress(other: String?) {
        let failure = GLibFailure(domain: "g-io-error-quark", code: 1, name: nil, message: "Could not connect")
        let error = AuthenticationError.keyringMisledToBus(failure, other: other)
        #expect(error.code == .keyringNoSessionBus && error.message.contains("DBUS_SESSION_BUS_ADDRESS"))
        #expect(error.message.contains("no need to sign in again"))
        #expect(other.map(error.message.contains) ?? true)
        #expect(StoreChoice.isAbsence(error) == (other == nil))
    }

    @Test func saysWhatToDoAboutEveryReason() {
        let codes: [Code] = [
            .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
            .keyringLocked,
            .keyringAccessDenied, .keyringPromptDismissed, .keyringTimedOut,
        ]
        let problem = LibraryProblem.unloadable("libsecret-1.so.0", reason: "no such file")
        var messages: Set<String> = [(AuthenticationError.fromKeyring(problem) as? AuthenticationError)?.message ?? ""]
        for code in codes.dropFirst() { messages.insert(AuthenticationError.keyring(code).message) }
        #expect(messages.count == codes.count)
        #expect(!messages.contains("") && !messages.contains("The keyring could not be used."))
    }

    /// Each call to a keyring ends by itself, and a read has several.
    @Test(.timeLimit(.minutes(1))) func endsAReadInItsTimeWhateverItWaitsFor() async {
        let cache = KeyringTokenCache(applicationName: "Test")
        let error = await #expect(throws: AuthenticationError.self) {
            try await cache.removingObstacles(within: .milliseconds(20)) { try await TestGate().wait() }
        }
        #expect(error?.code == .keyringTimedOut)
    }
}
