// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// A keyring item in which programs with Microsoft's libraries keep their tokens.
///
/// It is only read. Several products have one item under different lock files, so that none of them, and no process here,
/// keeps another from writing.
package struct MSALKeyringItem: Sendable {
    /// The attributes of the item; `xdg:schema` is its schema.
    package let attributes: [(String, String)]

    private static let developer = "Microsoft.Developer.IdentityService"

    /// The item with a schema and attributes of a program's own, as MSAL Python's extension, MSAL.NET and MSAL Go name them.
    package init(schema: String?, attributes: [(String, String)]) {
        self.attributes = (schema.map { [("xdg:schema", $0)] } ?? []) + attributes
    }

    /// The item of azure-identity for Python, without tokens for continuous access evaluation.
    package static let azureIdentityPython = MSALKeyringItem(
        schema: "msal.cache.nocae",
        attributes: [("MsalClientID", developer)]
    )

    /// The item that Azure.Identity for .NET, Git Credential Manager, Azure Artifacts' credential provider and Az PowerShell
    /// share.
    package static let azureIdentityDotNet = MSALKeyringItem(
        schema: "msal.cache",
        attributes: [("MsalClientID", developer), (developer, "1.0.0.0")]
    )

    /// The item of azure-identity for JavaScript.
    package static let azureIdentityJavaScript = MSALKeyringItem(
        schema: "org.freedesktop.Secret.Generic",
        attributes: [("service", developer), ("account", "MSALCache")]
    )
}

extension KeyringTokenCache {
    /// Returns the content of another program's item; `nil` if there is none. Of several the newest counts.
    ///
    /// - Throws: As ``record(for:)``.
    package func content(of item: MSALKeyringItem) async throws -> [UInt8]? {
        let timeout = connector.settings.readTimeout
        let items = try await inOpenCollection { link, collection, isSeenOpen in
            try await link.items(with: item.attributes, in: collection, isSeenOpen: isSeenOpen, within: timeout)
        }
        guard items.count > 1 else { return items.first?.secret }
        var newest: (secret: [UInt8], modified: UInt64)?
        for found in items {
            let modified = try await connector.bounded(by: timeout) { [connector] in
                try await connector.withLink { try await $0.modified(found.path, within: timeout) }
            }
            if newest.map({ $0.modified < modified }) ?? true { newest = (found.secret, modified) }
        }
        return newest?.secret
    }
}
