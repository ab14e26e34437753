// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityMSALCaches

/// A keyring item in which programs with Microsoft's authentication libraries (MSAL) keep their tokens.
///
/// An item that a publisher's own programs use under one lock file is read and written: name that file. An item that several
/// products use under different lock files is only read, because none of them keeps another from writing.
///
/// ```swift
/// let cache = SharedMSALKeyringCache(
///     .python(file: "/home/alice/.contoso/tokens", schema: "com.contoso.tokens", attributes: ["product": "desk"]),
///     clientID: clientID,
///     applicationName: "Contoso Desk"
/// )
/// ```
public struct MSALKeyringItem: Hashable, Sendable {
    /// The attributes by which the item is found; `xdg:schema` is its schema.
    let attributes: [String: String]
    /// The name of a new item, as the person sees it.
    let label: String
    /// Whether a new item gets Base64 of the content.
    let usesBase64: Bool
    /// The file beside the item, and the lock; `nil` if the item is only read.
    let signal: MSALSignal?

    private init(
        schema: String?,
        _ attributes: [String: String],
        label: String = "",
        usesBase64: Bool = false,
        signal: MSALSignal? = nil
    ) {
        self.attributes = attributes.merging(schema.map { ["xdg:schema": $0] } ?? [:]) { $1 }
        self.label = label
        self.usesBase64 = usesBase64
        self.signal = signal
    }

    /// Whether programs here write the item.
    public var isWritable: Bool { signal != nil }

    /// Returns the item of MSAL Python's extension: `LibsecretPersistence` and `PersistedTokenCache`.
    ///
    /// - Parameters:
    ///   - file: The first argument of `LibsecretPersistence`, the file whose time tells of changes.
    ///   - lock: The `lock_location` of `PersistedTokenCache`; `nil`, the default, means the file's name with `.lockfile` at the end.
    ///   - schema: The `schema_name`; `nil`, the default, means a digest of `file` as it is written here.
    ///   - attributes: The `attributes`.
    ///   - label: The name of a new item in "Passwords and Keys".
    public static func python(
        file: String,
        lock: String? = nil,
        schema: String? = nil,
        attributes: [String: String] = [:],
        label: String = ""
    ) -> MSALKeyringItem {
        MSALKeyringItem(
            schema: schema ?? Digest.sha256(file),
            attributes,
            label: label,
            signal: MSALSignal(file, lock: lock)
        )
    }

    /// Returns the item of MSAL.NET's extension: `WithLinuxKeyring` with the collection `default`.
    ///
    /// - Parameters:
    ///   - file: The cache's file and directory of `StorageCreationPropertiesBuilder`, as one path.
    ///   - schema: The `schemaName`.
    ///   - attributes: `attribute1` and `attribute2`.
    ///   - label: The `secretLabel`.
    public static func dotNet(
        file: String,
        schema: String,
        attributes: [String: String],
        label: String
    ) -> MSALKeyringItem {
        MSALKeyringItem(
            schema: schema,
            attributes,
            label: label,
            usesBase64: true,
            signal: MSALSignal(file, lock: nil)
        )
    }

    /// Returns the item of MSAL Node's extension, `LibSecretPersistence`.
    ///
    /// - Parameters:
    ///   - file: The `fileLocation`.
    ///   - service: The `serviceName`.
    ///   - account: The `accountName`.
    public static func node(file: String, service: String, account: String) -> MSALKeyringItem {
        MSALKeyringItem(
            schema: "org.freedesktop.Secret.Generic",
            ["service": service, "account": account],
            label: "\(service)/\(account)",
            signal: MSALSignal(file, lock: nil)
        )
    }

    /// Returns an item that is never written: of several products, or of MSAL Go and Java, whose locks do not exclude ours.
    ///
    /// - Parameters:
    ///   - schema: The item's schema, which is its attribute `xdg:schema`; `nil` to find it by the other attributes.
    ///   - attributes: The item's attributes.
    public static func readOnly(schema: String?, attributes: [String: String]) -> MSALKeyringItem {
        MSALKeyringItem(schema: schema, attributes)
    }

    private static let developer = "Microsoft.Developer.IdentityService"

    /// The item of azure-identity for Python, without tokens for continuous access evaluation. It is only read.
    public static let azureIdentityPython = readOnly(
        schema: "msal.cache.nocae",
        attributes: ["MsalClientID": developer]
    )

    /// The item that Azure.Identity for .NET, Git Credential Manager, Azure Artifacts' credential provider and Az PowerShell share
    /// under different lock files. It is only read.
    public static let azureIdentityDotNet = readOnly(
        schema: "msal.cache",
        attributes: ["MsalClientID": developer, developer: "1.0.0.0"]
    )

    /// The item of azure-identity for JavaScript. It is only read.
    public static let azureIdentityJavaScript = readOnly(
        schema: "org.freedesktop.Secret.Generic",
        attributes: ["service": developer, "account": "MSALCache"]
    )

    /// The attributes in a fixed order, as the keyring is asked for them.
    var query: [(String, String)] {
        attributes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The name of what is kept beside the item.
    var name: String {
        query.map { "\($0.0)=\($0.1)" }.joined(separator: "\n")
    }
}
