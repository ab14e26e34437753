// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension HelperCommand {
    /// Answers a call of `keyring`. A call that is not for this program goes to the next `keyring`, which takes the place of
    /// this process, with signals as they were; if there is none, this ends as that program does without a password.
    func answerKeyring(_ session: Session) async throws {
        let words = Array(arguments.dropFirst())
        // An agent tells only by its answer what it serves, and for which username.
        guard let request = KeyringRequest(words), let source = try request.source(in: session),
            let token = try await source.token(in: session), request.accepts(token.username)
        else {
            await session.finishPendingWork()
            InheritedState.atStart.restore()
            NextKeyring.run(words, session.environment)
            throw Ended(status: .other)
        }
        let username = source.username ?? token.username ?? request.username ?? HelperCall.anyUsername
        try session.result(request.answer(username: username, token: token.text))
    }
}

extension KeyringRequest {
    /// Returns what gives the token, or `nil` if nothing serves the address, or another username.
    fileprivate func source(in session: Session) throws -> HelperSource? {
        try HelperCall(.keyring, []).source(for: address, of: username, in: session)
    }

    /// Whether the call is for a username, or the profile or the call names none.
    fileprivate func accepts(_ chosen: String?) -> Bool {
        chosen == nil || username == nil || chosen == username
    }
}
