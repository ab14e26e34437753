// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// A program that asks for tokens, or the form in which programs want them: a file with its protocol, and a line in ``all``.
struct Helper: Sendable {
    static let all: [Helper] = [
        .git, .docker, .kubectl, .xoauth2, .oauthbearer, .keyring, .cargo, .bazel, .pnpm, .aws, .google, .headers, .go,
        .apiKey,
    ]

    enum Answer: Sendable {
        /// Options have been read.
        case call(@Sendable (HelperCall, Session) async throws -> Void)
        /// The program's own words.
        case words(@Sendable ([String], Session) async throws -> Void)
    }

    /// The word after `identityctl helper`.
    let name: String
    /// The name of a link to `identityctl` by which the program calls it, if it has one of its own.
    var link: String?
    /// Whether the last argument says what to do. The others only get a token.
    var hasOperation = false
    /// The options with a value that the options of `token` do not have.
    var options: Set<String> = []
    /// The options without a value that the options of `token` do not have.
    var flags: Set<String> = []
    /// Whether the program's own file says which server a client is for, so that no 'serves' is needed.
    var isChosenByItsFile = false
    /// Whether another program may take the place of this process, with the signals of its start.
    var isReplaced = false
    /// A sentence for the help.
    let help: String
    let answer: Answer
    /// Returns what the program wants to read on standard output after a failure.
    var failure: (@Sendable (_ cause: any Error, _ advice: String?) -> String)?

    static func named(_ name: String?) -> Helper? { all.first { $0.name == name } }

    /// The helper that is asked by the name of a link to `identityctl`.
    static func called(by link: Substring?) -> Helper? {
        link.flatMap { link in all.first { $0.link == String(link) } }
    }

    /// Whether the program's arguments ask for the help of a helper: 'helper git --help', or 'help helper git'.
    static func isHelp(_ arguments: [String]) -> Bool {
        if arguments.count == 2, arguments[0] == "helper", ["--help", "-h"].contains(arguments[1]) { return true }
        guard arguments.count > 2, named(arguments[0] == "help" ? arguments[2] : arguments[1]) != nil else {
            return false
        }
        if arguments[0] == "help" { return arguments[1] == "helper" && arguments.count == 3 }
        return arguments[0] == "helper" && ["--help", "-h"].contains(arguments[2])
    }

    func answer(_ arguments: [String], in session: Session) async throws {
        switch answer {
        case .call(let answer): try await answer(try HelperCall(self, arguments), session)
        case .words(let answer): try await answer(arguments, session)
        }
    }

    /// Returns what failed, and what a person can do about it.
    static func explanation(of error: any Error, in session: Session) async -> (cause: any Error, advice: String?) {
        let failure = error as? HelperFailure
        let cause = failure?.cause ?? error
        let options = failure?.options ?? SharedOptions()
        let known = await session.adviceOnStore(cause, options)
        return (
            await session.withoutStore(cause),
            AgentAdvice.text(of: cause) ?? known ?? PlainReport.advice(cause, options)
        )
    }

    /// Returns a failure in a program's answer.
    static func text(of cause: any Error, _ advice: String?, joinedBy separator: String) -> String {
        (PlainReport.error(cause) + [advice].compactMap(\.self)).joined(separator: separator)
    }
}

/// An error of a token, and the options of the command that signs in.
struct HelperFailure: Error {
    let cause: any Error
    let options: SharedOptions
}

extension HelperLink {
    /// The link of a helper that has one.
    init(_ helper: Helper, _ home: Home) {
        self.init(helper.link ?? helper.name, home)
    }
}
