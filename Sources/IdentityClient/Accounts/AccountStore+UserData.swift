// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// A program's data of an account: the folder that is shown, a color, the time of the last synchronization.
extension AccountStore {
    /// Returns the program's data of an account, or `nil` if there is none.
    ///
    /// - Throws: `AuthenticationError.configuration` when the data was written in another form than `Value`, or there
    ///   is no such type of account; `.cache` when it cannot be read; `CancellationError`.
    public func userData<Value: Decodable & Sendable>(
        _: Value.Type = Value.self,
        of account: StoredAccount
    ) async throws -> Value? {
        try await entry(account.type).application.environment.userData(of: account.account)
            .value(of: account.account.id)
    }

    /// Stores the program's data of an account with its tokens; `nil` removes the data.
    ///
    /// It is protected like the tokens, visible to other processes, and removed when the account is signed out. In a
    /// group that several programs share, they also share this data.
    ///
    /// - Throws: `AuthenticationError.configuration` when it is larger than 64 KiB as JSON, or cannot be encoded;
    ///   `.noTokensFound` when the account is not signed in; `.cache` when it cannot be written; `CancellationError`.
    public func setUserData<Value: Encodable & Sendable>(_ value: Value?, of account: StoredAccount) async throws {
        try await changingUserData(of: account) { try await $0.set(value, of: account.account.id) }
    }

    /// Changes the program's data of an account without losing what another process writes meanwhile.
    ///
    /// - Parameters:
    ///   - type: The type of the data, if it does not follow from the closure.
    ///   - account: The account of the data.
    ///   - change: Changes the data. It is called again if another process wrote first.
    /// - Throws: The errors of ``setUserData(_:of:)`` and ``userData(_:of:)``, and the errors of `change`.
    public func updateUserData<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self,
        of account: StoredAccount,
        _ change: (inout Value?) throws -> Void
    ) async throws {
        try await changingUserData(of: account) { try await $0.update(of: account.account.id, change) }
    }

    /// Checks again after the change: data that a concurrent sign-out could not see must not stay until the next
    /// sign-in.
    private func changingUserData(
        of account: StoredAccount,
        _ change: (UserDataRecords) async throws -> Void
    ) async throws {
        let application = try entry(account.type).application
        let (records, id) = (application.environment.userData(of: account.account), account.account.id)
        guard try await application.signedIn(account.account) != nil else { throw Self.notSignedIn }
        try await change(records)
        guard try await application.signedIn(account.account) != nil else {
            try await records.remove(of: id)
            throw Self.notSignedIn
        }
    }

    private static var notSignedIn: AuthenticationError {
        AuthenticationError(.noTokensFound, "This account is not signed in here.")
    }
}
