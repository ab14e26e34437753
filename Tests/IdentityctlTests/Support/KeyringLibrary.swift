// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// libsecret on a machine without a session bus. If libsecret is missing, the tool reports that first.
struct KeyringLibrary: Sendable, CustomTestStringConvertible {
    let isThere: Bool

    /// The possible states on this machine: an installed library can be hidden, but a missing one cannot be added.
    static let states = isInstalled ? [KeyringLibrary(isThere: true), .hidden] : [.hidden]
    static let hidden = KeyringLibrary(isThere: false)
    private static let isInstalled = unsafe dlopen("libsecret-1.so.0", RTLD_LAZY) != nil

    /// The tool's error code on this machine if the library is not hidden.
    static var code: String { KeyringLibrary(isThere: isInstalled).code }

    var testDescription: String { isThere ? "with libsecret" : "without libsecret" }

    /// The tool's error code for a keyring.
    var code: String { isThere ? "cache.keyring_no_session_bus" : "cache.keyring_library_missing" }

    /// - Parameter directory: The directory for a file that the loader finds in place of the library, and refuses.
    func variables(in directory: URL) throws -> [String: String] {
        guard !isThere else { return [:] }
        let folder = directory.appendingPathComponent("libraries")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data().write(to: folder.appendingPathComponent("libsecret-1.so.0"))
        let others = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":" + $0 } ?? ""
        return ["LD_LIBRARY_PATH": folder.path + others]
    }
}
