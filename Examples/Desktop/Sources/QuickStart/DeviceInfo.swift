// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import IdentityKeyring

/// This computer's means for signing in, and their use.
struct DeviceInfo: Sendable {
    var store: String
    var keyring: String
    /// The identity broker, if the program asks it.
    var broker: String
    /// The program that shows the sign-in page.
    var browser: String
    var display: String
    var isSharedDevice: Bool

    /// A description, one line for each property.
    var lines: [String] {
        [
            tr("Device mode: {0}", isSharedDevice ? tr("shared") : tr("private")),
            tr("Tokens: {0}", store),
            tr("Keyring: {0}", keyring),
            tr("Broker: {0}", broker),
            tr("Browser: {0}", browser),
            tr("Display: {0}", display),
        ]
    }

    /// Inspects the computer. Asks the keyring, for at most five seconds, and the broker if the person has chosen it; unlocks
    /// nothing and makes no lasting choice.
    @MainContext
    static func found(cache: any TokenCache, clientID: ClientID, _ choices: Choices) async throws -> DeviceInfo {
        DeviceInfo(
            store: try await store(cache, group: choices.program.cacheGroup ?? .application(clientID)),
            keyring: try await keyring(),
            broker: try await broker(choices.program.broker.use),
            browser: choices.program.page == .embedded
                ? tr("none: the page is shown in a window of this program")
                : browser(variable: ProcessInfo.processInfo.environment["BROWSER"], desktop: Desktop.browserName),
            display: Desktop.displayName ?? tr("none"),
            isSharedDevice: choices.isSharedDevice
        )
    }

    /// Returns the program that will open the sign-in page.
    static func browser(variable: String?, desktop: String?) -> String {
        if let variable, !variable.isEmpty { return "$BROWSER (\(variable))" }
        return desktop ?? tr("none that the desktop knows of")
    }

    private static func store(_ cache: any TokenCache, group: CacheGroup) async throws -> String {
        switch cache {
        case let desktop as DesktopTokenCache:
            do {
                return Self.text(of: try await desktop.openedLocation(for: group).location)
            } catch let error as AuthenticationError {
                return Problem(error)?.text ?? error.message
            }
        case is FileTokenCache: return tr("in files in clear text, which only you may read")
        case is InMemoryTokenCache: return tr("in memory, until the program ends")
        default: return tr("in a store of the program's own")
        }
    }

    private static func text(of store: TokenLocation) -> String {
        switch store {
        case .encryptedFile: tr("in encrypted files, with their key in the keyring")
        case .keyring: tr("in the keyring")
        case .file: tr("in files in clear text, which only you may read")
        case .memory: tr("in memory, until the program ends")
        default: tr("in a store of the program's own")
        }
    }

    private static func broker(_ use: BrokerUse) async throws -> String {
        let broker: any TokenBroker
        switch use {
        case .off: return tr("not asked")
        case .whenAvailable(let found), .required(let found): broker = found
        @unknown default: return tr("unknown")
        }
        do {
            let facts = try await broker.information()
            let version = facts.version ?? tr("unknown")
            return facts.product.map { tr("{0}, version {1}", $0, version) } ?? tr("version {0}", version)
        } catch let error as AuthenticationError {
            return Problem(error)?.text ?? error.message
        }
    }

    private static func keyring() async throws -> String {
        do {
            let status = try await KeyringTokenCache(applicationName: tr("Quick Start")).status()
            let provider = status.provider ?? tr("a program that the system does not name")
            let name = status.collection.isEmpty ? tr("no name") : status.collection
            return status.isLocked
                ? tr("“{0}” of {1}, locked", name, provider)
                : tr("“{0}” of {1}, unlocked", name, provider)
        } catch let error as AuthenticationError {
            return Problem(error)?.text ?? error.message
        }
    }
}
