// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// What a program keeps with an account: the folder that is shown, a colour, when it was synchronised last.
extension AccountStore {
    /// The program's data of an account, or `nil` when there is none.
    ///
    /// - Throws: `AuthenticationError.configuration` when it was written in another form than `Value`, or there is no
    ///   such type; `.cache` when it cannot be read; `CancellationError`.
    public func userData<Value: Decodable & Sendable>(
        _: Value.Type = Value.self,
        of account: StoredAccount
    ) async throws -> Value? {
        try await entry(account.type).application.environment.userData.value(of: account.account.id)
    }

    /// Keeps the program's data of an account with its tokens, or removes it.
    ///
    /// It is protected as the tokens are, seen by other processes, and gone when the account is signed out. In a group
    /// that several programs share, they share it as well.
    ///
    /// - Throws: `AuthenticationError.configuration` when it is larger than 64 KiB as JSON, or cannot be encoded;
    ///   `.noTokensFound` when the account is not signed in; `.cache` when it cannot be written; `CancellationError`.
    public func setUserData<Value: Encodable & Sendable>(_ value: Value?, of account: StoredAccount) async throws {
        try await changingUserData(of: account) { try await $0.set(value, of: account.account.id) }
    }

    /// Changes the program's data of an account, so that nothing that another process wrote meanwhile is lost.
    ///
    /// - Parameters:
    ///   - type: What the data is, where the closure does not say.
    ///   - account: Whose data.
    ///   - change: Is called again where another process was first.
    /// - Throws: As ``setUserData(_:of:)`` and ``userData(_:of:)``, and what `change` throws.
    public func updateUserData<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self,
        of account: StoredAccount,
        _ change: (inout Value?) throws -> Void
    ) async throws {
        try await changingUserData(of: account) { try await $0.update(of: account.account.id, change) }
    }

    /// Looks again afterwards: what a sign-out could not see yet must not wait for the next sign-in.
    private func changingUserData(
        of account: StoredAccount,
        _ change: (UserDataRecords) async throws -> Void
    ) async throws {
        let application = try entry(account.type).application
        let (records, id) = (application.environment.userData, account.account.id)
        guard try await application.account(withID: id) != nil else { throw Self.notSignedIn }
        try await change(records)
        guard try await application.account(withID: id) != nil else {
            try await records.remove(of: id)
            throw Self.notSignedIn
        }
    }

    private static var notSignedIn: AuthenticationError {
        AuthenticationError(.noTokensFound, "Nobody is signed in with this account here.")
    }
}
