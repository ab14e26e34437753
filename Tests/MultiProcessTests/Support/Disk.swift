// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A small disk of its own, which can be filled and made read-only.
final class Disk: Sendable {
    struct Failed: Error {
        let call: String
        let number: Int32
    }

    let directory: TemporaryDirectory
    private let options: String

    init(kilobytes: Int) throws {
        directory = try TemporaryDirectory()
        options = "size=\(kilobytes)k,mode=700"
        guard unsafe mount("tmpfs", directory.path, "tmpfs", 0, options) == 0 else {
            throw Failed(call: "mount", number: errno)
        }
    }

    deinit {
        _ = unsafe umount2(directory.path, Int32(MNT_DETACH))
    }

    /// Uses up all room.
    func fill() throws {
        let file = unsafe open("\(directory.path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failed(call: "open", number: errno) }
        defer { close(file) }
        let page = [UInt8](repeating: 0, count: 4096)
        while unsafe page.withUnsafeBytes({ unsafe write(file, $0.baseAddress, $0.count) }) > 0 {}
    }

    /// Gives the room back.
    func empty() throws {
        try FileManager.default.removeItem(atPath: "\(directory.path)/filler")
    }

    func remount(readOnly: Bool) throws {
        let flags = UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0)
        guard unsafe mount(nil, directory.path, nil, flags, nil) == 0 else {
            throw Failed(call: "remount", number: errno)
        }
    }
}
