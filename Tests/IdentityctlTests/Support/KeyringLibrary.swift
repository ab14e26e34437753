// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// libsecret on a machine without a session bus: where it is missing, the tool says that first.
struct KeyringLibrary: Sendable, CustomTestStringConvertible {
    let isThere: Bool

    /// Both states, as far as this machine has them: what is installed can be hidden, and not the other way round.
    static let states = isInstalled ? [KeyringLibrary(isThere: true), .hidden] : [.hidden]
    static let hidden = KeyringLibrary(isThere: false)
    private static let isInstalled = unsafe dlopen("libsecret-1.so.0", RTLD_LAZY) != nil

    /// What the tool says on this machine, whose keyring nobody hides.
    static var code: String { KeyringLibrary(isThere: isInstalled).code }

    var testDescription: String { isThere ? "with libsecret" : "without libsecret" }

    /// What the tool says of a keyring.
    var code: String { isThere ? "cache.keyring_no_session_bus" : "cache.keyring_library_missing" }

    /// - Parameter directory: Where a file may lie that the loader finds in the library's place, and refuses.
    func variables(in directory: URL) throws -> [String: String] {
        guard !isThere else { return [:] }
        let folder = directory.appendingPathComponent("libraries")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data().write(to: folder.appendingPathComponent("libsecret-1.so.0"))
        let others = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":" + $0 } ?? ""
        return ["LD_LIBRARY_PATH": folder.path + others]
    }
}
