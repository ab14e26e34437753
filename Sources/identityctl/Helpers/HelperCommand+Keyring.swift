// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging

extension HelperCommand {
    /// Gives a call of `keyring` that is not for this program to the next `keyring`, which takes the place of this
    /// process; if there is none, ends as that program does when it has no password. Other calls go on here.
    ///
    /// This happens before signals are handled, so that the next program gets them as they were.
    func passOn(_ environment: Environment) throws {
        guard arguments.first == HelperProgram.keyring.rawValue else { return }
        let words = Array(arguments.dropFirst())
        let session = Session(
            environment: environment,
            console: .standardError(),
            isJSON: false,
            logLevel: .critical
        )
        // An error in a profile is reported when the command runs.
        if let request = KeyringRequest(words), (try? request.source(in: session) != nil) ?? true { return }
        NextKeyring.run(words, environment)
        throw ExitCode(ExitStatus.other.rawValue)
    }

    func answerKeyring(_ session: Session) async throws {
        guard let request = KeyringRequest(Array(arguments.dropFirst())), let source = try request.source(in: session),
            let token = try await source.token(in: session)
        else { throw Ended(status: .other) }
        let username = source.username ?? token.username ?? request.username ?? HelperCall.anyUsername
        try session.result(request.answer(username: username, token: token.text))
    }
}

extension KeyringRequest {
    /// Returns what gives the token, or `nil` if nothing serves the address, or another username.
    fileprivate func source(in session: Session) throws -> HelperSource? {
        guard let source = try HelperCall(.keyring, []).source(for: address, in: session) else { return nil }
        if let chosen = source.username, let username, chosen != username { return nil }
        return source
    }
}
