// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// A type of account: a provider that a program's accounts come from, and the settings for sign-ins there.
///
/// ```swift
/// let work = AccountType("work", configuration: entra, scopes: ["User.Read"])
/// let store = try AccountStore([work, AccountType("shop", configuration: shop, scopes: ["orders.read"])])
/// ```
public struct AccountType: Sendable {
    /// The name of a type within a program.
    ///
    /// ```swift
    /// extension AccountType.Name {
    ///     static let work: Self = "work"
    /// }
    /// ```
    public struct Name: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
        /// The program's own word, for example `work`.
        public let rawValue: String

        /// Wraps a word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Wraps a word.
        public init(stringLiteral value: String) { rawValue = value }

        /// The word.
        public var description: String { rawValue }
    }

    /// The program's name for the type.
    public var name: Name

    /// The client identifier, the authority, the cache, and all other settings of an application object.
    public var configuration: PublicClientApplication.Configuration

    /// The scopes that are requested if a call names none.
    public var scopes: Set<Scope>

    /// Additional items of every authorization request. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// Additional header fields of every request to the provider. Fields that carry credentials, the body's form or the
    /// connection are refused.
    public var extraHeaders: [String: String] = [:]

    /// Creates a type without additional items and header fields.
    public init(_ name: Name, configuration: PublicClientApplication.Configuration, scopes: Set<Scope>) {
        self.name = name
        self.configuration = configuration
        self.scopes = scopes
    }
}

extension AccountType {
    /// Returns the application object, which sends the additional header fields to the provider only.
    ///
    /// - Throws: `.invalidArgument` for a reserved name, or text that cannot be sent.
    func application() throws -> PublicClientApplication {
        _ = try ExtraItems.checked(extraQueryItems)
        var configuration = configuration
        configuration.extraHeaderFields = try headerFields()
        return try PublicClientApplication(configuration)
    }

    private func headerFields() throws -> [HTTPField] {
        try extraHeaders.sorted { $0.key < $1.key }.map { name, value in
            let lowered = name.lowercased()
            guard let field = HTTPField.Name(name), !Self.reservedHeaders.contains(lowered),
                !lowered.hasPrefix("content-"), !lowered.hasPrefix("proxy-"), !lowered.hasPrefix("sec-"),
                value.utf8.count <= 4096, value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The extra header field '\(name.prefix(50))' is one that the library sets itself, or cannot be sent."
                )
            }
            return HTTPField(name: field, value: value)
        }
    }

    private static let reservedHeaders: Set<String> = [
        "accept", "authorization", "client-request-id", "connection", "cookie", "dpop", "expect", "host", "keep-alive",
        "return-client-request-id", "te", "trailer", "transfer-encoding", "upgrade", "x-client-cpu", "x-client-os",
        "x-client-sku", "x-client-ver", "x-ms-lib-capability",
    ]
}
