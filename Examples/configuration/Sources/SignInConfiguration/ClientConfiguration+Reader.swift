// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Configuration
public import IdentityClient

extension ClientConfiguration {
    /// Reads a program's client and provider, from variables, files or whatever the reader has.
    ///
    /// | Key | Value |
    /// |---|---|
    /// | `client-id`, `issuer` | required |
    /// | `client-secret` | a secret: no log of the reader shows it |
    /// | `redirect-ports` | the first and the last port, where the provider compares ports |
    ///
    /// - Parameter config: A reader of these keys: `config.scoped(to: "identity")`, for example.
    /// - Throws: The reader's error for a missing key, and `AuthenticationError` for a value that cannot be used.
    public init(reading config: ConfigReader, cache: any TokenCache) throws {
        self.init(
            clientID: ClientID(rawValue: try config.requiredString(forKey: "client-id")),
            authority: try .openIDConnect(issuer: try config.requiredString(forKey: "issuer")),
            cache: cache
        )
        clientSecret = config.string(forKey: "client-secret", isSecret: true).map(ClientSecret.init(rawValue:))
        if let ports = config.intArray(forKey: "redirect-ports"), ports.count == 2,
            let first = UInt16(exactly: ports[0]), let last = UInt16(exactly: ports[1]), first <= last
        {
            redirectURI = try .loopback(ports: first...last)
        }
    }
}
