// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

// A token that cannot be had is told in the stream of changes, besides being thrown.
extension AccountStore {
    /// Signs a person in with a type; see `PublicClientApplication/acquireTokenInteractively(_:)`.
    ///
    /// - Parameters:
    ///   - name: The type of account.
    ///   - change: Changes what is asked for: the type's scopes and extra items, and nothing else, unless it says so.
    /// - Throws: As that, and `.configuration` when there is no such type.
    @discardableResult
    public func acquireTokenInteractively(
        ofType name: AccountType.Name,
        _ change: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthenticationResult {
        let entry = try entry(name)
        let parameters = entry.type.parameters(change)
        return try await telling(of: name, parameters.account) {
            try await entry.application.acquireTokenInteractively(parameters)
        }
    }

    /// Signs a person in on another device; see `PublicClientApplication/acquireTokenWithDeviceCode(_:prompt:)`.
    ///
    /// - Parameters:
    ///   - name: The type of account.
    ///   - change: Changes what is asked for: the type's scopes and extra items, and nothing else, unless it says so.
    ///   - prompt: Is called once, with what to show to the person.
    /// - Throws: As that, and `.configuration` when there is no such type.
    @discardableResult
    public func acquireTokenWithDeviceCode(
        ofType name: AccountType.Name,
        _ change: (inout DeviceCodeParameters) -> Void = { _ in },
        prompt: @Sendable (DeviceCodePrompt) -> Void
    ) async throws -> AuthenticationResult {
        let entry = try entry(name)
        let parameters = entry.type.deviceParameters(change)
        return try await telling(of: name, parameters.account) {
            try await entry.application.acquireTokenWithDeviceCode(parameters, prompt: prompt)
        }
    }

    /// An access token for an account without asking the person; see
    /// `PublicClientApplication/acquireTokenSilently(_:)`.
    ///
    /// - Parameters:
    ///   - account: Whose token.
    ///   - scopes: The scopes it must have; `nil` means the type's.
    ///   - change: Changes what else is asked for.
    /// - Throws: As that, and `.configuration` when there is no such type.
    public func acquireTokenSilently(
        for account: StoredAccount,
        scopes: Set<Scope>? = nil,
        _ change: (inout SilentParameters) -> Void = { _ in }
    ) async throws -> AuthenticationResult {
        let entry = try entry(account.type)
        var parameters = SilentParameters(scopes: scopes ?? entry.type.scopes, account: account.account)
        change(&parameters)
        return try await telling(of: account.type, account.account) {
            try await entry.application.acquireTokenSilently(parameters)
        }
    }

    /// Prepares a sign-in for a program that shows the page itself; see
    /// `PublicClientApplication/prepareAuthorization(_:)`.
    ///
    /// The store remembers it, so that ``handleRedirect(_:)`` finds it again: for as long as its time-out says, and at
    /// most 16 of them, the oldest going first.
    /// - Throws: As that, and `.configuration` when there is no such type.
    public func prepareAuthorization(
        ofType name: AccountType.Name,
        _ change: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthorizationRequest {
        let entry = try entry(name)
        let parameters = entry.type.parameters(change)
        let request = try await telling(of: name, parameters.account) {
            try await entry.application.prepareAuthorization(parameters)
        }
        pending.add(request, ofType: name, at: .now)
        return request
    }

    /// Completes the sign-in that an address answers, whichever type it is of.
    ///
    /// Hand it every address that the program is opened with, or that its web view is sent to. It belongs to the sign-in
    /// whose redirect address and `state` it has, and to no other; an address that belongs to none ends none.
    ///
    /// - Returns: The result, or `nil` when no sign-in waits for this address.
    /// - Throws: As `PublicClientApplication/completeAuthorization(_:with:)`.
    public func handleRedirect(_ url: URL) async throws -> AuthenticationResult? {
        guard let (request, name) = pending.take(answeredBy: url.absoluteString, at: .now) else { return nil }
        let application = try entry(name).application
        return try await telling(of: name, request.parameters.account) {
            try await application.completeAuthorization(request, with: url)
        }
    }

    private func telling<Value: Sendable>(
        of name: AccountType.Name,
        _ account: Account?,
        _ acquire: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await acquire()
        } catch let error as AuthenticationError {
            let account = account.map { StoredAccount(type: name, account: $0) }
            post(AccountStoreChange(kind: .acquisitionFailed(error), type: name, old: account, new: account))
            throw error
        }
    }
}

extension AccountType {
    fileprivate func parameters(_ change: (inout InteractiveParameters) -> Void) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.extraQueryItems = extraQueryItems
        change(&parameters)
        return parameters
    }

    fileprivate func deviceParameters(_ change: (inout DeviceCodeParameters) -> Void) -> DeviceCodeParameters {
        var parameters = DeviceCodeParameters(scopes: scopes)
        parameters.extraParameters = extraQueryItems
        change(&parameters)
        return parameters
    }
}
