// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import OAuthWire
import SystemSupport

/// Decisions, without side effects, that turn the examined facts into findings.
enum Examination {
    static func browser(_ environment: InteractionEnvironment) -> [Finding] {
        let opener: Finding =
            if let problem = environment.browserProblem {
                .lack(
                    "browser",
                    problem,
                    "Sign in with 'identityctl login --manual' and a browser anywhere.",
                    .browserUnavailable
                )
            } else {
                .ok("browser", environment.browsers.joined(separator: ", "))
            }
        let display: Finding =
            if let display = environment.display {
                .ok("display", display)
            } else {
                .lack(
                    "display",
                    "DISPLAY and WAYLAND_DISPLAY are not set",
                    "Run this in a desktop session, or sign in with 'identityctl login --manual'.",
                    .browserUnavailable
                )
            }
        return [opener, display]
    }

    /// - Parameter status: The agent's answer to a question for its state, or the error in place of one.
    static func agent(at path: String, _ status: Result<JSONObject, any Error>) -> Finding {
        switch status {
        case .failure(let error): return .lack("agent", "\(path) gives no tokens", error)
        case .success(let answer):
            let names = answer.strings("profiles") ?? []
            let version = answer.string("version").map { ", version \($0)" } ?? ""
            let found =
                (names.isEmpty ? "no profiles" : "profiles: \(names.prefix(20).joined(separator: ", "))") + version
            guard answer.bool("locked") != true else {
                let advice = "To unlock it, run where it runs: identityctl agent unlock"
                return .lack("agent", "\(path), locked; \(found)", advice, .cacheUnavailable)
            }
            let other = AgentAnswer.otherVersion(in: answer).map { "; \($0)" } ?? ""
            return .ok("agent", "\(path), \(found)\(other)")
        }
    }

    /// - Parameters:
    ///   - status: The keyring's description of itself, or the error that prevented it.
    ///   - busAnswers: Whether the session bus itself was seen to answer.
    static func keyring(_ status: Result<KeyringStatus, any Error>, busAnswers: Bool = false) -> [Finding] {
        let (bus, service, collection) = ("session bus", "secret service", "collection")
        switch status {
        case .success(let status):
            // KeePassXC's database has no name by default.
            let label = status.collection.isEmpty ? "the default collection" : "'\(status.collection)'"
            return [
                .ok(bus, "there is one"),
                .ok(service, status.provider ?? "provided by a program that the system does not name"),
                Self.collection(label, status),
            ]
        case .failure(let error):
            let unasked = Finding.unknown(collection, "not asked")
            switch (error as? AuthenticationError)?.code {
            case .keyringLibraryMissing?:
                return [.unknown(bus, "not asked"), .lack(service, "libsecret could not be loaded", error), unasked]
            case .keyringNoSessionBus?:
                return [.lack(bus, "there is none", error), .unknown(service, "not asked"), unasked]
            case .keyringNoService?:
                return [.ok(bus, "there is one"), .lack(service, "no program provides it", error), unasked]
            case .keyringNoDefaultCollection?:
                return [
                    .ok(bus, "there is one"), .ok(service, "it answers"),
                    .lack(collection, "there is no default", error),
                ]
            case .keyringAccessDenied? where (error as? AuthenticationError)?.isOfAnothersBus == true:
                return [.lack(bus, "it is another user's", error), .unknown(service, "not asked"), unasked]
            default:
                let found: Finding = busAnswers ? .ok(bus, "there is one") : .unknown(bus, "not sure")
                return [found, .lack(service, "it cannot be used", error), unasked]
            }
        }
    }

    private static func collection(_ label: String, _ status: KeyringStatus) -> Finding {
        if status.isLocked {
            return .lack(
                "collection",
                "\(label) is locked",
                "Unlock it, in \"Passwords and Keys\" for example; there is no need to sign in anew.",
                .cacheUnavailable
            )
        }
        guard status.hasLockedItems else { return .ok("collection", "\(label) is unlocked") }
        return .lack(
            "collection",
            "\(label) is unlocked, but gives out items only after asking",
            "Switch the question off (KeePassXC: Settings, Secret Service Integration, \"Confirm when passwords are retrieved "
                + "by clients\"): only 'identityctl login' shows a dialog.",
            .cacheUnavailable
        )
    }

    /// - Parameters:
    ///   - store: The store that holds the tokens of the group, or `nil` if it is not known or no store was chosen yet.
    ///   - read: Whether a pass phrase protects the store's key, or why the store, or the choice of it, cannot be read.
    ///   - options: The options of the command that gives up tokens that can never be read again.
    static func tokenStore(
        _ store: TokenLocation?,
        _ read: Result<Bool, any Error>,
        _ options: SharedOptions = SharedOptions()
    ) -> Finding {
        let check = "token store"
        switch (store, read) {
        case (nil, .failure(let error)): return .lack(check, "it is not known", error)
        case (let store?, .failure(let error)):
            var finding = Finding.lack(check, "\(store) cannot be read", error)
            let resort = StoreAdvice.givingUp(store, error, options)
            finding.advice = [finding.advice, resort].compactMap(\.self).joined(separator: " ")
            return finding
        case (let store?, .success(true)):
            return .ok(check, "\(store): its key needs a pass phrase, which is not asked for here")
        case (let store?, .success(false)):
            return .ok(check, store.hasKeyFile ? "\(store): its key can be read" : "\(store)")
        case (nil, .success): return .unknown(check, "none yet: the first sign-in decides")
        }
    }

    static func files(_ files: Result<FileCacheInspection, any Error>) -> Finding {
        let check = "token files"
        switch files {
        case .failure(let error): return .lack(check, "there is no place for them", error)
        case .success(let files):
            let mode = files.mode.map { "mode " + String($0, radix: 8) } ?? "will be made when it is needed"
            let found = "\(files.path) (\(mode))"
            if let problem = files.problem ?? records(in: files.path) { return .lack(check, found, problem) }
            guard files.hasLocksOfThisKernel else { return .unknown(check, "\(found); \(SharedDisk.note)") }
            return .ok(check, found)
        }
    }

    /// Returns what keeps a record, or its lock, from being used: the kind, the owner or the mode.
    private static func records(in path: String) -> AuthenticationError? {
        do {
            guard let root = try Descriptor.directory(path) else { return nil }
            for group in try root.names() where try root.status(of: group)?.kind == .directory {
                // Encrypted records have a directory of their own, with all groups.
                if group.hasPrefix(".encrypted") {
                    if let problem = records(in: "\(path)/\(group)") { return problem }
                    continue
                }
                guard let directory = try SecureDirectory.open(path, group) else { continue }
                for name in try directory.names() where name.hasSuffix(".json") || name.hasPrefix(".lock-") {
                    guard let status = try directory.status(of: name) else { continue }
                    let file = "\(directory.path)/\(name)"
                    try SecureFile.checkLock(status, path: file)
                    guard status.mode & 0o600 == 0o600 else {
                        throw SecureFile.refusal(
                            "Its mode does not let you use \(file). Repair it with: chmod 600 \(file.shellWord)"
                        )
                    }
                }
            }
            return nil
        } catch let failure as SystemCallError {
            return AuthenticationError(failure)
        } catch {
            return error as? AuthenticationError
        }
    }

    static func curl(_ version: Result<String, any Error>) -> Finding {
        switch version {
        case .success(let version): .ok("libcurl", version)
        case .failure(let error): .lack("libcurl", "it cannot be used", error)
        }
    }

    /// - Parameter published: Whether the provider publishes a valid description of itself, or the error in it.
    static func provider(_ authority: Authority, _ published: Result<Bool, any Error>) -> Finding {
        let check = "provider"
        switch published {
        case .success(true): return .ok(check, authority.description)
        case .success(false): return .unknown(check, "a plain OAuth 2.0 server publishes nothing to look at")
        case .failure(let error):
            let isOther = ProviderOptions.isOther(error, authority)
            let advice = JSONReport.message(of: error) + (isOther ? " \(ProviderOptions.isNotMicrosoft)" : "")
            return .lack(check, authority.description, advice, ExitStatus(for: error))
        }
    }

    /// - Parameters:
    ///   - theirs: The provider's time in seconds since 1970, or `nil` if the provider does not tell the time.
    ///   - ours: This computer's time in seconds since 1970.
    static func clock(_ theirs: Result<Int64?, any Error>, ours: Int64) -> Finding {
        switch theirs {
        case .failure: return .unknown("clock", "not compared: the provider did not answer")
        case .success(nil): return .unknown("clock", "the provider does not tell the time")
        case .success(let theirs?):
            let ahead = ours - theirs
            let found =
                ahead == 0 ? "as the provider's" : "\(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") the provider's"
            guard abs(ahead) > 60 else { return .ok("clock", found) }
            return .lack(
                "clock",
                found,
                "Set this computer's clock: tokens are not believed when it is wrong (timedatectl set-ntp true).",
                .notBelieved
            )
        }
    }
}

extension Examination {
    /// - Parameters:
    ///   - facts: The broker's description of itself, or the error that prevented it.
    ///   - isRequired: Whether the person wants no sign-in without the broker.
    static func broker(_ facts: Result<BrokerInformation, any Error>, isRequired: Bool) -> Finding {
        let check = "identity broker"
        switch facts {
        case .success(let facts):
            let product = facts.product ?? "Microsoft's, or another that does not tell its name"
            return .ok(check, "\(product), version \(facts.version ?? "not told")")
        case .failure(let error):
            let lack = Finding.lack(check, "it cannot be used", error)
            return isRequired ? lack : lack.notNeeded("with --broker auto")
        }
    }
}
