// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport

/// A small separate disk, which can be filled and made read-only.
final class Disk: Sendable {
    struct Failed: Error {
        let call: String
        let number: Int32
    }

    static let isMountable = geteuid() == 0
    /// Whether quotas are available. Btrfs always supports them; tmpfs, ext4 and XFS only if the kernel was built with
    /// them.
    static let hasQuotas: Bool = {
        let known = (try? String(contentsOfFile: "/proc/filesystems", encoding: .utf8)) ?? ""
        let needed = ["/usr/sbin/mkfs.btrfs", "/dev/loop-control"]
        return isMountable && known.contains("\tbtrfs")
            && needed.allSatisfy { FileManager.default.fileExists(atPath: $0) }
    }()

    let directory: TemporaryDirectory
    /// Keeps the file that contains the file system, if it is not in memory.
    private let image: TemporaryDirectory?

    /// Creates a disk of the given size.
    init(kilobytes: Int) throws {
        (directory, image) = (try TemporaryDirectory(), nil)
        guard unsafe mount("tmpfs", directory.path, "tmpfs", 0, "size=\(kilobytes)k,mode=700") == 0 else {
            throw Failed(call: "mount", number: errno)
        }
    }

    /// Creates a large disk with a quota.
    init(quotaKilobytes: Int) throws {
        let (directory, image) = (try TemporaryDirectory(), try TemporaryDirectory())
        (self.directory, self.image) = (directory, image)
        let file = "\(image.path)/btrfs"
        try Self.run("truncate", "--size=114M", file)  // the least that mkfs.btrfs takes; most of it is never written
        try Self.run("mkfs.btrfs", "--quiet", "--metadata=single", file)
        try Self.run("mount", "-o", "loop", file, directory.path)
        try Self.run("btrfs", "quota", "enable", directory.path)
        try Self.run("btrfs", "qgroup", "limit", "\(quotaKilobytes)k", directory.path)
    }

    deinit {
        _ = unsafe umount2(directory.path, Int32(MNT_DETACH))
    }

    /// Fills the free space.
    ///
    /// - Parameter kilobytes: The space that stays free.
    func fill(leaving kilobytes: Int = 0) throws {
        let file = unsafe open("\(directory.path)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failed(call: "open", number: errno) }
        defer { close(file) }
        let page = [UInt8](repeating: 0, count: 4096)
        while unsafe page.withUnsafeBytes({ unsafe write(file, $0.baseAddress, $0.count) }) > 0 {}
        let expected = image == nil ? ENOSPC : EDQUOT
        guard errno == expected else { throw Failed(call: "write", number: errno) }
        guard kilobytes > 0 else { return }
        let length = lseek(file, 0, SEEK_END) - kilobytes << 10
        guard ftruncate(file, length) == 0 else { throw Failed(call: "ftruncate", number: errno) }
    }

    /// Frees the space again.
    func empty() throws {
        try FileManager.default.removeItem(atPath: "\(directory.path)/filler")
    }

    func remount(readOnly: Bool) throws {
        let flags = UInt(MS_REMOUNT) | (readOnly ? UInt(MS_RDONLY) : 0)
        guard unsafe mount(nil, directory.path, nil, flags, nil) == 0 else {
            throw Failed(call: "remount", number: errno)
        }
    }

    private static func run(_ words: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failed(call: words.joined(separator: " "), number: process.terminationStatus)
        }
    }
}
