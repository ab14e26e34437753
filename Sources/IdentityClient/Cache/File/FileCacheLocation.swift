// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The directory of a ``FileTokenCache``, determined when it is first needed.
final class FileCacheLocation: Sendable {
    private let resolved: Mutex<String?>

    /// - Parameter directory: An absolute path, a path relative to the current working directory, or `nil` for the
    ///   user's state directory.
    init(_ directory: String?) {
        resolved = Mutex(directory.map { Self.absolute($0, in: SystemCall.workingDirectory ?? "/") })
    }

    /// Returns the absolute path.
    func path() throws -> String {
        try resolved.withLock { path in
            if let path { return path }
            let standard = try StateDirectory.path()
            path = standard
            return standard
        }
    }

    static func absolute(_ path: String, in workingDirectory: String) -> String {
        FilePath.normalized(path.hasPrefix("/") ? path : "\(workingDirectory)/\(path)")
    }
}
