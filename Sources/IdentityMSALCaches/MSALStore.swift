// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport

/// A file in which programs with Microsoft's authentication libraries keep their tokens, and the file of its lock.
///
/// All of these files hold clear text; they are protected by their mode alone. Each program that uses the file must
/// use the same lock file, because otherwise they overwrite each other's tokens.
///
/// ```swift
/// let cache = try SharedMSALCache(.azureCLI(), clientID: clientID)
/// ```
public struct MSALLocation: Hashable, Sendable {
    let file: MSALFile
    let isWritable: Bool

    private init(path: String, lock: String? = nil, isWritable: Bool = true) {
        // A cache refuses it.
        let path = FilePath.isForShell(path) ? path : FilePath.absolute(path, in: SystemCall.workingDirectory ?? "/")
        let lock = lock.map { FilePath.absolute($0, in: SystemCall.workingDirectory ?? "/") }
        file = MSALFile(path: path, lockPath: lock ?? path + ".lockfile")
        self.isWritable = isWritable
    }

    /// The path of the file.
    public var path: String { file.path }

    /// Returns a file of MSAL Python with `FilePersistence`, of MSAL.NET with an unprotected file, or of MSAL Node.
    ///
    /// - Parameters:
    ///   - path: The file. A relative path begins at the current working directory.
    ///   - lock: The lock file; `nil`, the default, means the file's name with `.lockfile` at the end, as in all three.
    public static func file(_ path: String, lock: String? = nil) -> MSALLocation {
        MSALLocation(path: path, lock: lock)
    }

    /// Returns a file that is never written: for programs that do not lock, or under another name, as MSAL Go and Java.
    public static func readOnly(_ path: String) -> MSALLocation {
        MSALLocation(path: path, isWritable: false)
    }

    /// Returns the file of the Azure CLI: `msal_token_cache.json` in `$AZURE_CONFIG_DIR`, otherwise in `~/.azure`.
    /// - Throws: `.cache` when the user has no home directory.
    public static func azureCLI() throws -> MSALLocation {
        let directory = SystemCall.environment("AZURE_CONFIG_DIR").flatMap { $0.isEmpty ? nil : $0 }
        return MSALLocation(path: try "\(directory ?? home("/.azure"))/msal_token_cache.json")
    }

    /// Returns the file that azure-identity for Python writes if a program allows unencrypted storage and there is no
    /// keyring.
    ///
    /// - Parameters:
    ///   - name: The name in `TokenCachePersistenceOptions`.
    ///   - isCAE: Whether the tokens are those for continuous access evaluation, which have a file of their own.
    /// - Throws: `.cache` when the user has no home directory.
    public static func azureIdentityPython(name: String = "msal.cache", isCAE: Bool = false) throws -> MSALLocation {
        MSALLocation(path: try home("/.IdentityService/\(name)\(isCAE ? ".cae" : ".nocae")"))
    }

    /// Returns the file that Azure.Identity for .NET writes if a program allows unencrypted storage and there is no
    /// keyring.
    ///
    /// - Parameters:
    ///   - name: The name in `TokenCachePersistenceOptions`.
    ///   - isCAE: Whether the tokens are those for continuous access evaluation, which have a file of their own.
    /// - Throws: `.cache` when the user has no home directory.
    public static func azureIdentityDotNet(name: String = "msal.cache", isCAE: Bool = false) throws -> MSALLocation {
        try FilePath.checkReadable(SystemCall.environment("XDG_DATA_HOME"), of: "XDG_DATA_HOME")
        let data = SystemCall.environment("XDG_DATA_HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
        let directory = try data ?? home("/.local/share")
        return MSALLocation(path: "\(directory)/.IdentityService/\(name)\(isCAE ? ".cae" : ".nocae")")
    }

    private static func home(_ rest: String) throws -> String {
        let user = SystemCall.effectiveUser
        guard let home = SystemCall.environment("HOME") ?? SystemCall.home(ofUser: user), home.hasPrefix("/") else {
            throw AuthenticationError(.cache, "User \(user) has no home directory. Name the file.")
        }
        try FilePath.checkReadable(home, of: "HOME")
        return home + rest
    }
}
