// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import OAuthWire

extension Helper {
    static let keyring = Helper(
        name: "keyring",
        link: "keyring",
        isReplaced: true,
        help: """
            'helper keyring', or a link named 'keyring', is for pip and uv; calls for others go to the next 'keyring' in PATH.
            """,
        answer: .words(KeyringRequest.answer)
    )
}

/// A call of `keyring get`, as pip and uv make it.
///
/// - SeeAlso: [keyring](https://pypi.org/project/keyring/), "Command-line Utility"
struct KeyringRequest: Hashable, Sendable {
    private let service: String
    /// `nil` for none, which PDM writes as an empty word.
    let username: String?
    private let wantsUsername: Bool
    private let isJSON: Bool

    /// - Returns: `nil` for another operation or option, which is for another `keyring`.
    init?(_ arguments: [String]) {
        var values: [String] = []
        var (mode, output) = ("password", "plain")
        var words = arguments[...]
        while let word = words.popFirst() {
            switch word {
            case "--mode": mode = words.popFirst() ?? ""
            case "--output": output = words.popFirst() ?? ""
            case "--mode=password", "--mode=creds": mode = String(word.dropFirst(7))
            case "--output=plain", "--output=json": output = String(word.dropFirst(9))
            default:
                guard word.utf8.first != UInt8(ascii: "-") else { return nil }
                values.append(word)
            }
        }
        guard ["password", "creds"].contains(mode), ["plain", "json"].contains(output), values.first == "get",
            values.count == 3 || (values.count == 2 && mode == "creds"),
            values.allSatisfy({ $0.utf8.count <= 4096 && !$0.utf8.hasControls })
        else { return nil }
        service = values[1]
        username = values.count == 3 && !values[2].isEmpty ? values[2] : nil
        wantsUsername = mode == "creds"
        isJSON = output == "json"
    }

    /// The address that is asked for. First pip and uv give the address, and then its host and port alone, which say nothing
    /// of TLS: an index can lead pip to the same host without it. They are no address. PDM leaves the username before the host,
    /// which is then the same as the one that it asks for.
    var address: ServedAddress? {
        guard let username, let named = service.utf8.firstRange(of: "://\(PercentEncoding.encode(username))@".utf8)
        else { return ServedAddress(asked: service) }
        return ServedAddress(asked: "\(service[..<named.lowerBound])://\(service[named.upperBound...])")
    }

    /// Returns the answer in the wanted form.
    func answer(username: String, token: String) -> String {
        guard isJSON else { return (wantsUsername ? "\(username)\n" : "") + "\(token)\n" }
        let name: [(name: String, value: JSONValue)] = wantsUsername ? [("username", .string(username))] : []
        let answer = JSONObject(name + [("password", .string(token))])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }

    /// Answers a call of `keyring`. A call that is not for this program goes to the next `keyring`, which takes the place of
    /// this process, with signals as they were; if there is none, this ends as that program does without a password.
    fileprivate static func answer(_ words: [String], _ session: Session) async throws {
        // An agent tells only by its answer what it serves, and for which username.
        guard let request = KeyringRequest(words), let source = try request.source(in: session),
            let token = try await source.token(in: session)
        else {
            await session.finishPendingWork()
            InheritedState.atStart.restore()
            NextKeyring.run(words, session.environment)
            throw Ended(status: .other)
        }
        let username = source.username ?? token.username ?? request.username ?? TokenUsername.any
        try session.result(request.answer(username: username, token: token.text))
    }

    /// Returns what gives the token, or `nil` if nothing serves the address.
    private func source(in session: Session) throws -> HelperSource? {
        try HelperCall(.keyring, []).source(for: address, of: username, in: session)
    }
}

/// The `keyring` that would run if this program had no link of that name.
enum NextKeyring {
    /// The variable that keeps two copies of this program from calling each other for ever.
    private static let mark = "IDENTITYCTL_KEYRING_PASSED_ON"

    /// Replaces this program by the next `keyring`. Returns only if there is none.
    static func run(_ arguments: [String], _ environment: Variables) {
        guard environment[mark] == nil, let path = path(in: environment["PATH"] ?? "") else { return }
        _ = unsafe setenv(mark, "1", 1)
        var words = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        _ = unsafe execv(path, &words)
    }

    /// Returns the first executable `keyring` in the absolute directories of `PATH` that is not this program.
    static func path(in directories: String) -> String? {
        guard let own = status(of: "/proc/self/exe") else { return nil }
        let paths = directories.utf8.split(separator: UInt8(ascii: ":")).map {
            "\(String(decoding: $0, as: UTF8.self))/keyring"
        }
        return paths.first { path in
            guard path.utf8.first == UInt8(ascii: "/"), let status = status(of: path) else { return false }
            return unsafe access(path, X_OK) == 0 && status.st_mode & S_IFMT == S_IFREG
                && !(status.st_dev == own.st_dev && status.st_ino == own.st_ino)
        }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status : nil
    }
}

extension IntegratedTool {
    static let pip = IntegratedTool(name: "pip") { PipIntegration(home: $0) }
    static let uv = IntegratedTool(name: "uv") { LinesIntegration.uv(in: $0) }
}

/// pip, set up by `pip config`.
struct PipIntegration: Integration {
    let home: Home

    private static let key = "global.keyring-provider"
    private static let wanted = "subprocess"

    private var name: HelperLink { HelperLink(.keyring, home) }
    var link: HelperLink? { name }
    private var pip: String { home.find("pip") == nil && home.find("pip3") != nil ? "pip3" : "pip" }
    private func config(_ words: String...) -> [String] { [pip, "config", "--user"] + words }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let value = try await value()
        guard value == nil || value == Self.wanted else {
            throw UsageError(
                "pip's \(Self.key) is '\(value?.printable ?? "")'. If identityctl shall answer, first run: "
                    + Home.line(config("unset", Self.key))
            )
        }
        return IntegrationPlan(
            changes: try name.making() + (value == nil ? [.run(config("set", Self.key, Self.wanted))] : []),
            notes: [KeyringNote.username, IntegrationPlan.forAll] + [name.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let isShared = try await !LinesIntegration.uv(in: home).uses().isEmpty
        let isSet = try await isSet()
        // pip leaves its file without content.
        let left = ["\(home.configuration)/pip/pip.conf", "\(home.path)/.pip/pip.conf"]
            .filter { (path: String) in unsafe access(path, F_OK) == 0 }
        return IntegrationPlan(
            changes: (isSet ? [.run(config("unset", Self.key))] + left.map(Change.removeIfEmpty) : [])
                + (isShared ? [] : name.removing())
        )
    }

    func uses() async throws -> [IntegrationUse] {
        // pip is slow to start; without this program as 'keyring' it is not set up.
        guard name.isFound || !name.removing().isEmpty, try await isSet() else { return [] }
        return [IntegrationUse(label: KeyringNote.label, isForAll: true)]
    }

    /// Whether pip asks the program `keyring`.
    func isSet() async throws -> Bool {
        do {
            return try await value() == Self.wanted
        } catch let failure as CommandFailure where failure.isNotFound {
            return false
        }
    }

    /// The value in the person's own configuration; `nil` if there is none.
    private func value() async throws -> String? {
        // The status is 1 if there is no such key.
        let output = try await home.run(config("get", Self.key), accepting: [0, 1])
        let text = String(decoding: output, as: UTF8.self).prefix { !$0.isNewline }
        return text.isEmpty ? nil : String(text)
    }
}

extension LinesIntegration {
    /// - SeeAlso: [uv](https://docs.astral.sh/uv/reference/settings/#keyring-provider), `keyring-provider`
    static func uv(in home: Home) -> LinesIntegration {
        let line = #"keyring-provider = "subprocess""#
        return LinesIntegration(
            tool: .uv,
            home: home,
            link: HelperLink(.keyring, home),
            path: "\(home.configuration)/uv/uv.toml",
            lines: { _ in ([line], [KeyringNote.username, IntegrationPlan.forAll]) },
            conflicts: { other, _ in other.drop { " \t\"'".contains($0) }.hasPrefix("keyring-provider") },
            use: { _ in IntegrationUse(label: KeyringNote.label, isForAll: true) },
            isLinkShared: { try await PipIntegration(home: home).isSet() }
        )
    }
}

/// The texts for both pip and uv, which ask the same helper.
enum KeyringNote {
    static let label = "the indexes that a profile serves"
    static let username = "Put a username into the index's address, such as https://oauth2@pypi.example.com/simple/."
}
