// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Which account a program works with, and which it worked with before.
///
/// ```swift
/// if let account = try await app.currentAccount().current {
///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
/// }
/// ```
public struct CurrentAccount: Hashable, Sendable {
    /// The account to work with; `nil` when nobody is signed in.
    public let current: Account?

    /// The account that was the current one before, signed out or not; `nil` when there was none, or the same.
    ///
    /// Of one that is signed out, only the identifier, the environment and the username are known.
    public let previous: Account?

    /// Creates the pair; a program's tests do this.
    public init(current: Account?, previous: Account? = nil) {
        self.current = current
        self.previous = previous
    }
}
