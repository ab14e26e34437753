// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import SystemSupport

extension PlainFile {
    /// The things that a new file may take the place of.
    enum Place {
        /// Nothing may have the name.
        case free
        /// A file of the name is replaced. A symbolic link stays, and the file that it leads to is replaced.
        case file
        /// Anything of the name is replaced, a symbolic link as well.
        case name
    }

    /// Writes a file beside its place, and moves it there when it is on the disk: a reader finds the old content or the new,
    /// never a part. Missing directories are made, for this user alone. A power loss afterwards takes nothing of it back.
    ///
    /// - Parameters:
    ///   - mode: The file's mode in its place. Before that, only this user can read it.
    ///   - ready: Called with the file's descriptor before the move.
    /// - Throws: `UsageError` if the place is taken, or for a link that leads to no file; `SystemFailure`, also for root's file in
    ///   the directory of the caller of `sudo`; the errors of `ready`. An older file then stays.
    static func write(
        _ bytes: [UInt8],
        to path: String,
        in place: Place = .file,
        mode: mode_t = 0o600,
        ready: (Int32) throws -> Void = { _ in }
    ) throws {
        let target = place == .file ? try self.target(of: path) : path
        try refuseForeignHome(of: target)
        let directory = self.directory(of: target)
        removeLeftovers(in: directory)
        let beside = directory + "/" + leftover + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
        var descriptor = create(beside)
        if descriptor < 0, errno == ENOENT, makeDirectory(directory) { descriptor = create(beside) }
        guard descriptor >= 0 else { throw failure(path) }
        defer {
            close(descriptor)
            unsafe unlink(beside)
        }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw failure(path) }
        guard status.st_mode & 0o077 & ~mode == 0 else {
            throw SystemFailure(
                "The file system of \(path.printable) keeps no permissions, so that others could read the file."
            )
        }
        try StandardStream.write(bytes, to: descriptor, named: path.printable)
        // Some file systems cannot sync.
        guard fchmod(descriptor, mode) == 0, fsync(descriptor) == 0 || errno == EINVAL else { throw failure(path) }
        try ready(descriptor)
        if place == .free { try claim(path, for: beside) }
        guard unsafe rename(beside, target) == 0, synchronize(directory) else { throw failure(path) }
    }

    /// Removes the file at `path`, so that a power loss does not bring it back.
    ///
    /// - Returns: Whether it was removed; if not, `errno` says why.
    static func remove(_ path: String) -> Bool {
        unsafe unlink(path) == 0 && synchronize(directory(of: path))
    }

    /// Waits until the names in a directory are on the disk.
    ///
    /// - Returns: Whether the disk took them. That this user may not read the directory, or that its file system cannot sync it,
    ///   is no failure.
    private static func synchronize(_ directory: String) -> Bool {
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        return fsync(descriptor) == 0 || errno == EINVAL
    }

    /// Throws where a file of root's would be in the way of the caller of `sudo`.
    ///
    /// - Throws: `SystemFailure`.
    static func refuseForeignHome(of path: String) throws {
        do {
            let path = FilePath.absolute(path, in: FileManager.default.currentDirectoryPath)
            try SecureDirectory.refuseForeignHome(of: path)
        } catch let error as AuthenticationError {
            throw SystemFailure(error.message)
        }
    }

    /// The file that a symbolic link leads to; any other path as it is.
    ///
    /// The kernel follows no link of another user in a directory such as `/tmp`. A replaced file is reached by its own name, so
    /// the same rule stands here.
    /// - Throws: `UsageError` for a link that leads to no file, and for one that the rule forbids.
    /// - SeeAlso: proc_sys_fs(5), `protected_symlinks`
    static func target(of path: String) throws -> String {
        var target = path
        for _ in 0..<40 {
            var status = stat()
            guard unsafe lstat(target, &status) == 0 else {
                if target == path { return path }
                throw UsageError("\(path.printable) is a link that leads to no file. Remove the link, and try again.")
            }
            guard status.st_mode & S_IFMT == S_IFLNK else { return target }
            try checkIsOwn(link: target, of: status.st_uid)
            let next = try FileManager.default.destinationOfSymbolicLink(atPath: target)
            target = next.hasPrefix("/") ? next : "\(directory(of: target))/\(next)"
        }
        throw UsageError("\(path.printable) is a link that leads to itself. Remove the link, and try again.")
    }

    /// - SeeAlso: `may_follow_link` in the kernel's sources.
    private static func checkIsOwn(link: String, of owner: uid_t) throws {
        var parent = stat()
        guard owner != geteuid(), unsafe stat(directory(of: link), &parent) == 0,
            parent.st_mode & (S_ISVTX | S_IWOTH) == S_ISVTX | S_IWOTH, parent.st_uid != owner
        else { return }
        throw UsageError(
            "\(link.printable) is another user's link in a directory that everyone may write to. Name a file in a directory of your own."
        )
    }

    /// The directory that a path without a slash at its end names a file in.
    static func directory(of path: String) -> String {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private static func create(_ path: String) -> Int32 {
        unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }

    private static func makeDirectory(_ path: String) -> Bool {
        var isMade = unsafe mkdir(path, 0o700) == 0
        if !isMade, errno == ENOENT, makeDirectory(directory(of: path)) { isMade = unsafe mkdir(path, 0o700) == 0 }
        return isMade ? synchronize(directory(of: path)) : errno == EEXIST
    }

    /// Gives a file the name `path` as well, or makes an empty file there where the file system has no links.
    private static func claim(_ path: String, for file: String) throws {
        if unsafe link(file, path) == 0 { return }
        let descriptor = [EPERM, EOPNOTSUPP].contains(errno) ? create(path) : -1
        guard descriptor < 0 else {
            close(descriptor)
            return
        }
        throw errno == EEXIST ? UsageError("\(path.printable) exists already.") : failure(path)
    }

    private static let leftover = ".identityctl-"

    /// Removes this user's files that writers left there when they were killed, an hour ago or earlier.
    private static func removeLeftovers(in directory: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard name.hasPrefix(leftover), name.utf8.count == leftover.utf8.count + 16,
                UInt64(name.dropFirst(leftover.count), radix: 16) != nil
            else { continue }
            var status = stat()
            let path = "\(directory)/\(name)"
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                time(nil) - status.st_mtim.tv_sec > 3600
            else { continue }
            unsafe unlink(path)
        }
    }

    private static func failure(_ path: String) -> SystemFailure {
        refusal(path, "could not be written")
    }
}
