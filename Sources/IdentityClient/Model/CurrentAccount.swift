// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The account that a program works with, and the account that it worked with before.
///
/// ```swift
/// if let account = try await app.currentAccount().current {
///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
/// }
/// ```
public struct CurrentAccount: Hashable, Sendable {
    /// The account to work with; `nil` if no account is signed in.
    public let current: Account?

    /// The previously current account, signed out or not; `nil` if there was none or it has not changed.
    ///
    /// For a signed-out account, only the identifier, the environment and the username are known.
    public let previous: Account?

    /// Creates the pair, for a program's tests.
    public init(current: Account?, previous: Account? = nil) {
        self.current = current
        self.previous = previous
    }
}
