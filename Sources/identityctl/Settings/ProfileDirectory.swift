// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// A person's profiles above those of the whole machine, and the name of the default one.
struct ProfileDirectory: Sendable {
    /// The maximum length of a profile in bytes.
    static let maximumSize = 1 << 16

    /// `identityctl` in `$XDG_CONFIG_HOME` if that is absolute, otherwise in `~/.config`.
    let base: String
    /// The place of the profiles of the whole machine. A person's own with the same name stands above.
    private let shared: String
    /// `identityctl` in `$XDG_STATE_HOME` if that is absolute, otherwise in `~/.local/state`; `nil` without a home directory.
    private let state: String?

    /// - Throws: `UsageError` without a home directory, or if its name is no UTF-8.
    init(_ environment: Variables, shared: String = "/etc/identityctl") throws {
        self.shared = shared
        let config = try environment.path("XDG_CONFIG_HOME")
        let home = config == nil ? try environment.path("HOME") : try? environment.path("HOME")
        let ownState = try environment.path("XDG_STATE_HOME")
        state = (ownState ?? home.map { "\($0)/.local/state" }).map { "\($0)/identityctl" }
        if let config {
            base = "\(config)/identityctl"
        } else if let home {
            base = "\(home)/.config/identityctl"
        } else {
            throw UsageError("There is no home directory for profiles: set HOME.")
        }
    }

    private var directory: String { "\(base)/profiles" }
    private var defaultPath: String { "\(base)/default-profile" }

    /// The path of the person's own profile.
    func path(of name: ProfileName) -> String { "\(directory)/\(name).conf" }

    /// The path of the machine's profile.
    func sharedPath(of name: ProfileName) -> String { "\(shared)/profiles/\(name).conf" }

    /// The place of what is known of resources; `nil` without a home directory.
    var resourceDirectory: String? { state.map { "\($0)/resources" } }

    /// The place of what servers answered to the first messages of AI programs; `nil` without a home directory.
    var answerDirectory: String? { state.map { "\($0)/mcp-answers" } }

    /// The file with the account of a profile's first sign-in; `nil` without a home directory.
    func accountPath(of name: ProfileName) -> String? { state.map { "\($0)/profile-accounts/\(name).json" } }

    /// The file about the calls for a model's gateway.
    func gatewayPath(of profile: Profile?) -> String? {
        state.map { "\($0)/gateways/\(profile?.name.text ?? "none").json" }
    }

    /// The file with the phantom and the port of a profile's forwarder; `nil` without a home directory.
    func forwardPath(of name: ProfileName) -> String? { state.map { "\($0)/forward/\(name).json" } }

    /// The place of what helpers note about their sign-ins with a profile; `nil` without a home directory.
    func signInPath(of profile: Profile?) -> String? {
        state.map { "\($0)/helper-sign-in/\(profile?.name.text ?? "none")" }
    }

    /// The same for a resource without a profile.
    func signInPath(ofResource address: String) -> String? {
        state.map { "\($0)/helper-sign-in/\(Digest.hexadecimal(of: ["resource", address]).prefix(32))" }
    }

    /// One of both, by the last part of its path; `nil` also for a name that none of them has.
    func signInPath(named name: String) -> String? {
        guard name.utf8.areAlphanumeric(or: "._-"), name.utf8.first?.isAlphanumeric == true else { return nil }
        return state.map { "\($0)/helper-sign-in/\(name)" }
    }

    /// - Throws: `UsageError` if there is no such profile, or if its file cannot be used.
    func profile(named name: ProfileName) throws -> Profile {
        guard let (path, bytes, mode) = try found(name) else {
            throw absent(name, "'identityctl profile list' lists them.")
        }
        let profile = try Profile(name, path: path, parsing: bytes)
        let isPublic = try Variables([:]).above(profile).isOn("client-secret-is-public", false)
        guard profile.given("client-secret") == nil || mode & 0o077 == 0 || isPublic else {
            // Without its reading rights, only root could use a profile of the machine.
            throw UsageError(
                isOwn(name)
                    ? "\(path.printable): others can read its client-secret. Run: chmod 600 \(path.shellWord)"
                    : "\(path.printable): others can read its client-secret. If the provider's documentation says that this secret is "
                        + "none, as for Google's desktop clients, root adds a line: client-secret-is-public = on"
            )
        }
        let own = profile.belonging(to: try account(of: profile))
        guard let resource = own.given("resource"), own.leavesToSearch, let resourceDirectory else {
            return own
        }
        return try KnownResources(directory: resourceDirectory).profile(for: resource.text).map(own.below) ?? own
    }

    private func found(_ name: ProfileName) throws -> (path: String, bytes: [UInt8], mode: mode_t)? {
        for path in [path(of: name), sharedPath(of: name)] {
            if let (bytes, mode) = try Self.read(path) { return (path, bytes, mode) }
        }
        return nil
    }

    /// Returns the text of a profile that is about to be changed, unchecked.
    ///
    /// - Throws: `UsageError` if there is no such profile.
    func text(of name: ProfileName) throws -> [UInt8] {
        guard let found = try found(name) else {
            throw absent(name, "'identityctl profile add' makes one.")
        }
        return found.bytes
    }

    private func absent(_ name: ProfileName, _ advice: String) -> UsageError {
        let names = (try? names()) ?? []  // what cannot be listed is not proposed
        return UsageError(
            "There is no profile '\(name)'.\(Suggestion.text(for: name.text, among: names.map(\.text))) \(advice)"
        )
    }

    /// The path of the text that a person edits. It is no profile, because the name begins with a dot.
    func draftPath(of name: ProfileName) -> String { "\(directory)/.\(name).edit.conf" }

    /// Returns the bytes of a profile, or of another file of this directory, unchecked; `nil` if there is none.
    func bytes(at path: String) throws -> [UInt8]? { try Self.read(path)?.0 }

    /// Writes the text that a person edits, readable only by this user.
    func writeDraft(_ text: [UInt8], of name: ProfileName) throws {
        try PlainFile.write(text, to: draftPath(of: name))
    }

    /// The names of all profiles, in order.
    func names() throws -> [ProfileName] {
        let names = try [directory, "\(shared)/profiles"].flatMap { directory in
            try Self.files(in: directory).filter { $0.hasSuffix(".conf") }.compactMap {
                ProfileName(String($0.dropLast(5)))
            }
        }
        return Set(names).sorted { $0.text < $1.text }
    }

    private static func files(in directory: String) throws -> [String] {
        guard unsafe access(directory, R_OK) == 0 else {
            if errno == ENOENT { return [] }
            throw PlainFile.unreadable(directory)
        }
        return try FileManager.default.contentsOfDirectory(atPath: directory)
    }

    /// The name of the default profile, the person's choice before the machine's, or `nil` if there is none.
    func defaultName() throws -> ProfileName? {
        for path in [defaultPath, "\(shared)/default-profile"] {
            guard let (bytes, _) = try Self.read(path) else { continue }
            let text = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            return try ProfileName(Given(text: text, origin: path.printable))
        }
        return nil
    }

    /// The default profile, or else the only one of the person, or of the machine where the person has none; `nil` if there is
    /// none of these.
    ///
    /// - Throws: `UsageError` if there is no such default profile.
    func usualName() throws -> ProfileName? {
        if let name = try defaultName() {
            guard try found(name) != nil else {
                throw UsageError(
                    "There is no profile '\(name)', which is the default one. Choose another: identityctl profile default NAME. Or none: "
                        + "identityctl profile default --unset"
                )
            }
            return name
        }
        let names = try names()
        let own = names.filter(isOwn)
        let candidates = own.isEmpty ? names : own
        return candidates.count == 1 ? candidates[0] : nil
    }

    /// Whether the person has a profile of the name. One of the machine is none, unless the person has a changed copy of it.
    func isOwn(_ name: ProfileName) -> Bool { SystemCall.exists(path(of: name)) }

    /// Whether the machine has a profile of the name.
    func isOfMachine(_ name: ProfileName) -> Bool { SystemCall.exists(sharedPath(of: name)) }

    /// Whether a profile is one of the machine that the person has never signed in with.
    func isUnused(_ name: ProfileName) -> Bool {
        guard !isOwn(name), let path = accountPath(of: name), !SystemCall.exists(path) else { return false }
        return (try? profile(named: name))?.namesAccount != true
    }

    /// Returns the profile that serves an address, by the longest path; `nil` if none does.
    ///
    /// - Parameters:
    ///   - username: The name that decides between profiles that serve it equally, by their lines `username`.
    ///   - problem: Called for each profile that cannot be read. It serves nothing.
    /// - Throws: `UsageError` if two profiles serve it equally.
    func profile(
        serving address: ServedAddress,
        for username: String? = nil,
        problem: (any Error) -> Void
    ) throws -> Profile? {
        let best = try profiles(serving: address, problem: problem)
        guard best.count > 1 else { return best.first }
        if let username {
            let named = best.filter { $0.given("username")?.text == username }
            let fitting = named.isEmpty ? best.filter { $0.given("username") == nil } : named
            if fitting.isEmpty {
                problem(
                    UsageError("No profile that serves \(address.text) has the line: username = \(username.printable)")
                )
            }
            if fitting.count < 2 { return fitting.first }
        }
        throw UsageError(
            "The profiles '\(best[0].name)' (\(best[0].path.printable)) and '\(best[1].name)' (\(best[1].path.printable)) both serve "
                + "\(address.text). Remove it from one of them, or give each a line 'username' and the tool an address with that "
                + "name, such as https://NAME@git.example.com."
        )
    }

    /// Returns the profiles that serve an address by the longest path, which should be one. A person's own stand before those of
    /// the machine.
    ///
    /// - Parameter problem: Called for each profile that cannot be read. It serves nothing.
    func profiles(serving address: ServedAddress, problem: (any Error) -> Void) throws -> [Profile] {
        var (best, depth) = ([Profile](), 0)
        for name in try names() {
            do {
                let profile = try profile(named: name)
                guard let own = try TokenReach(of: profile).depth(of: address), own >= depth || best.isEmpty else {
                    continue
                }
                if own > depth { best = [] }
                best.append(profile)
                depth = own
            } catch {
                problem(error)
            }
        }
        let own = best.filter { isOwn($0.name) }
        return own.isEmpty ? best : own
    }

    /// Refuses an address that another profile of the person serves: no helper could choose between them. With two `username`
    /// lines the name in a program's request chooses.
    ///
    /// - Throws: `UsageError` that names the address and the other profile.
    func checkServedAddresses(of profile: Profile) throws {
        let (addresses, username) = (try TokenReach(of: profile).served(), profile.given("username")?.text)
        for name in try names() where name != profile.name && isOwn(name) {
            // A profile that cannot be read serves nothing.
            guard let other = try? self.profile(named: name), let taken = try? TokenReach(of: other).served(),
                let address = addresses.first(where: taken.contains)
            else { continue }
            let theirs = other.given("username")?.text
            guard username == nil || theirs == nil || username == theirs else { continue }
            throw UsageError(
                "The profile '\(name)' serves \(address.text) already. Serve a longer path, or take the line out there, or give "
                    + "each of the two a line 'username'."
            )
        }
    }

    /// Writes a profile, readable only by this user, at once as a whole.
    ///
    /// - Parameter replaces: Whether a profile of the name may exist.
    func write(_ text: String, as name: ProfileName, replaces: Bool) throws {
        let path = path(of: name)
        guard try replaces || bytes(at: path) == nil else {
            throw UsageError(
                "There is a profile '\(name)' already. Use --replace, or 'identityctl profile edit \(name)'."
            )
        }
        try PlainFile.write(Array(text.utf8), to: path, in: replaces ? .file : .free)
    }

    /// - Parameter name: The new default profile, or `nil` for none.
    func setDefault(_ name: ProfileName?) throws {
        guard let name else {
            guard PlainFile.remove(defaultPath) || errno == ENOENT else {
                throw SystemFailure("\(defaultPath) cannot be removed", number: errno)
            }
            return
        }
        _ = try profile(named: name)
        try PlainFile.write(Array("\(name)\n".utf8), to: defaultPath)
    }

    /// - Throws: `UsageError` if there is no such profile.
    func remove(_ name: ProfileName) throws {
        let path = path(of: name)
        guard PlainFile.remove(path) else {
            if errno == ENOENT {
                let isShared = SystemCall.exists(sharedPath(of: name))
                throw UsageError(
                    isShared
                        ? "The profile '\(name)' is one of the whole machine: \(sharedPath(of: name)). Only root can remove it."
                        : "There is no profile '\(name)'."
                )
            }
            throw SystemFailure("\(path) cannot be removed", number: errno)
        }
        forgetAccount(of: name)
        _ = forwardPath(of: name).map(PlainFile.remove)  // there may be none
        if try defaultName() == name { try setDefault(nil) }
    }

    /// Returns the content and the mode of a file that only this user, or root, can have written; `nil` if there is none.
    static func read(_ path: String) throws -> ([UInt8], mode_t)? {
        let found = try PlainFile.read(path, atMost: maximumSize + 1) { status in
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw UsageError("\(path.printable): this is not a plain file.")
            }
            guard status.st_uid == geteuid() || status.st_uid == 0 else {
                throw UsageError("\(path.printable): this file belongs to another user.")
            }
            guard status.st_mode & 0o022 == 0 else {
                throw UsageError("\(path.printable): other users can write to it. Run: chmod go-w \(path.shellWord)")
            }
        }
        guard let found else { return nil }
        guard found.bytes.count <= maximumSize else { throw UsageError("\(path.printable): larger than 64 KiB.") }
        return found
    }
}

/// A profile belongs to a person or to the machine.
enum ProfileOwner: String, Sendable {
    case person, machine
    /// The person's, in place of one of the machine.
    case copy

    /// The words in a list; `nil` for the usual.
    var words: String? {
        switch self {
        case .person: nil
        case .machine: "of the machine"
        case .copy: "your copy of the machine's"
        }
    }
}

extension ProfileDirectory {
    func owner(of name: ProfileName) -> ProfileOwner {
        guard isOwn(name) else { return .machine }
        return isOfMachine(name) ? .copy : .person
    }
}
