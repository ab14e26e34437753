// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// An open file or directory, closed when it goes out of scope. Every failure names the path.
package struct Descriptor: ~Copyable {
    /// The file's name in errors.
    package let path: String
    package let number: Int32

    private init(number: Int32, path: String) {
        self.number = number
        self.path = path
    }

    /// Takes over an open descriptor without a name.
    init(_ number: Int32) {
        self.init(number: number, path: "")
    }

    deinit {
        _ = close(number)
    }

    /// Opens the directory at `path`, which must not be a symbolic link; `nil` if there is none.
    package static func directory(_ path: String) throws(SystemCallError) -> Descriptor? {
        try open(path, in: AT_FDCWD, flags: O_RDONLY | O_DIRECTORY, path: path)
    }

    /// Waits until the names in the directory at `path`, which may be a symbolic link, are on the disk.
    package static func synchronizeDirectory(_ path: String) throws(SystemCallError) {
        try open(path + "/.", in: AT_FDCWD, flags: O_RDONLY | O_DIRECTORY, path: path)?.synchronize()
    }

    /// Opens the directory `name` in this directory; `nil` if there is none.
    package func directory(_ name: String) throws(SystemCallError) -> Descriptor? {
        try open(name, flags: O_RDONLY | O_DIRECTORY)
    }

    /// Opens the file at `path`, which must not be a symbolic link, for reading; `nil` if there is none. A FIFO does not
    /// block.
    package static func file(at path: String) throws(SystemCallError) -> Descriptor? {
        try open(path, in: AT_FDCWD, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY, path: path)
    }

    /// Opens the file `name` for reading; `nil` if there is none. A FIFO in its place does not block.
    package func file(_ name: String) throws(SystemCallError) -> Descriptor? {
        try open(name, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
    }

    /// Opens `path` only to ask for its status, which never blocks; `nil` if it does not exist.
    package static func unread(_ path: String) throws(SystemCallError) -> Descriptor? {
        try open(path, in: AT_FDCWD, flags: statusOnly, path: path)
    }

    /// `O_PATH`, which the C library shows only to GNU sources.
    private static var statusOnly: Int32 { 0o1000_0000 }

    /// Creates the file `name`, which must not exist, readable and writable only for its owner.
    ///
    /// On a file system without permissions it fails like an unsupported `chmod`, and leaves no file.
    package func newFile(_ name: String) throws(SystemCallError) -> Descriptor {
        guard let file = try open(name, flags: O_WRONLY | O_CREAT | O_EXCL) else {
            throw SystemCallError("open", "\(path)/\(name)", number: ENOENT)
        }
        if try file.status().mode == 0o600 { return file }
        // A umask has removed bits, or the file system has one mode for all files.
        _ = fchmod(file.number, 0o600)
        guard try file.status().isPrivate else {
            try? remove(name)  // The first failure is the one to tell.
            throw SystemCallError("chmod", file.path, number: EOPNOTSUPP)
        }
        return file
    }

    /// Opens the file `name` for locking, and creates it if there is none.
    package func lockFile(_ name: String) throws(SystemCallError) -> Descriptor {
        if let file = try open(name, flags: O_RDWR | O_NONBLOCK | O_NOCTTY) { return file }
        do {
            return try newFile(name)
        } catch  where error.number == EEXIST {  // someone was faster
            if let file = try open(name, flags: O_RDWR | O_NONBLOCK | O_NOCTTY) { return file }
            throw error
        }
    }

    private func open(_ name: String, flags: Int32) throws(SystemCallError) -> Descriptor? {
        try Self.open(name, in: number, flags: flags, path: "\(path)/\(name)")
    }

    private static func open(
        _ name: String,
        in directory: Int32,
        flags: Int32,
        path: String
    ) throws(SystemCallError) -> Descriptor? {
        while true {
            let number = unsafe openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if number >= 0 { return Descriptor(number: number, path: path) }
            if errno == ENOENT { return nil }
            if errno != EINTR { throw SystemCallError("open", path) }
        }
    }
}

extension Descriptor {
    /// The status of this file or directory.
    package func status() throws(SystemCallError) -> FileStatus {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw SystemCallError("fstat", path) }
        return FileStatus(status)
    }

    /// The status of `name` in this directory, or `nil` if it does not exist.
    package func status(of name: String) throws(SystemCallError) -> FileStatus? {
        var status = stat()
        if unsafe fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(status) }
        if errno == ENOENT { return nil }
        throw SystemCallError("stat", "\(path)/\(name)")
    }

    /// At most `limit` bytes from the file's position.
    package func read(atMost limit: Int) throws(SystemCallError) -> [UInt8] {
        var failure: SystemCallError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit, let start = buffer.baseAddress {
                let part = unsafe Glibc.read(number, start + count, limit - count)
                if part == 0 { return }
                if part > 0 { count += part } else if errno != EINTR { return failure = SystemCallError("read", path) }
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all of `bytes` into this file, which is empty.
    package func write(_ bytes: [UInt8]) throws(SystemCallError) {
        try checkSizeLimit(bytes.count)
        var written = 0
        while written < bytes.count {
            let part = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.write(number, $0.baseAddress.map { unsafe $0 + written }, $0.count - written)
            }
            if part >= 0 { written += part } else if errno != EINTR { throw SystemCallError("write", path) }
        }
    }

    /// Takes the space of `bytes` bytes for this file, which is empty, so that writing them needs no more.
    ///
    /// A file system that compresses or copies on write may still refuse them later.
    package func allocate(_ bytes: Int) throws(SystemCallError) {
        try checkSizeLimit(bytes)
        while true {
            // The C library writes into each block where the file system cannot allocate.
            let failure = posix_fallocate(number, 0, bytes)
            switch failure {
            case 0: return
            case EINTR: continue
            case EINVAL, ENODEV, ENOSYS, EPERM:  // nor lets it be tried
                try write([UInt8](repeating: 0, count: bytes))
                guard lseek(number, 0, SEEK_SET) == 0 else { throw SystemCallError("lseek", path) }
                return
            default: throw SystemCallError("fallocate", path, number: failure)
            }
        }
    }

    /// Makes the file as long as `length`, and frees the space behind its end.
    package func truncate(to length: Int) throws(SystemCallError) {
        guard ftruncate(number, length) == 0 else { throw SystemCallError("ftruncate", path) }
    }

    /// Checks that this process may make a file of `length` bytes. A write beyond the limit would end the process by
    /// a signal.
    /// - SeeAlso: `RLIMIT_FSIZE` in getrlimit(2)
    package func checkSizeLimit(_ length: Int) throws(SystemCallError) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur < length else {
            return
        }
        throw SystemCallError("write", path, number: EFBIG)
    }

    /// Another descriptor of the same file or directory.
    package func duplicate() throws(SystemCallError) -> Descriptor {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemCallError("open", path) }
        return Descriptor(number: copy, path: path)
    }

    /// Waits until the written bytes, or a directory's names, are on the disk.
    package func synchronize() throws(SystemCallError) {
        while fsync(number) != 0 {
            // Some file systems cannot sync a directory, and report it in this way.
            if errno == EINVAL { return }
            if errno != EINTR { throw SystemCallError("fsync", path) }
        }
    }

    /// Renames the file `name` in this directory to `other`, replacing any file there.
    package func rename(_ name: String, to other: String) throws(SystemCallError) {
        guard unsafe renameat(number, name, number, other) == 0 else {
            throw SystemCallError("rename", "\(path)/\(other)")
        }
    }

    /// Gives the file `name` in this directory the second name `other`, which must not exist.
    package func link(_ name: String, as other: String) throws(SystemCallError) {
        guard unsafe linkat(number, name, number, other, 0) == 0 else {
            throw SystemCallError("link", "\(path)/\(other)")
        }
    }

    /// Removes the file `name` from this directory.
    package func remove(_ name: String) throws(SystemCallError) {
        guard unsafe unlinkat(number, name, 0) == 0 else { throw SystemCallError("unlink", "\(path)/\(name)") }
    }
}

extension Descriptor {
    /// Writes a new file and renames it to `name` in this directory, so that a reader finds the old or the new file,
    /// complete. Whether the name survives a crash is left to the caller, who synchronizes the directory.
    ///
    /// - Parameters:
    ///   - temporary: The name of the new file until then. It must not exist.
    ///   - reserved: A file in this directory that is open with its space and becomes the new file; `nil` creates one.
    ///   - stamp: The time that the new file gets. The kernel's time stamps have the resolution of a clock tick; a stamp
    ///     of its own tells two writes within a tick apart.
    ///   - mayReplace: Called last before the rename; an error leaves the old file.
    /// - Returns: The status of the new file, and whether the file system stored the stamp as it is. Otherwise time must
    ///   pass before the status tells later changes apart.
    package func replace(
        _ name: String,
        with bytes: [UInt8],
        through temporary: String,
        reserved: ReservedFile? = nil,
        stamp: FileTime,
        isDurable: Bool = true,
        mayReplace: () throws -> Void = {}
    ) throws -> (fingerprint: FileFingerprint, isSettled: Bool) {
        if let reserved {
            let temporary = reserved.name
            return try put(bytes, in: reserved.file, temporary, as: name, stamp, isDurable, isLonger: true, mayReplace)
        }
        let file = try newFile(temporary)
        return try put(bytes, in: file, temporary, as: name, stamp, isDurable, isLonger: false, mayReplace)
    }

    /// - Parameter isLonger: Whether the file has space for more than `bytes`, which is freed.
    private func put(
        _ bytes: [UInt8],
        in file: borrowing Descriptor,
        _ temporary: String,
        as name: String,
        _ stamp: FileTime,
        _ isDurable: Bool,
        isLonger: Bool,
        _ mayReplace: () throws -> Void
    ) throws -> (fingerprint: FileFingerprint, isSettled: Bool) {
        do {
            try file.write(bytes)
            if isLonger { try file.truncate(to: bytes.count) }
            try? file.stamp(stamp)  // If setting it fails, the status is not settled.
            if isDurable { try file.synchronize() }
            try mayReplace()
            try rename(temporary, to: name)
        } catch {
            // The first failure is the one to tell. A file that was moved away with its directory keeps no secret.
            if isLonger { try? file.truncate(to: 0) }
            try? remove(temporary)
            throw error
        }
        let fingerprint = try file.status().fingerprint
        return (fingerprint, fingerprint.modified == stamp)
    }
}

extension Descriptor {
    /// The file systems that no other kernel shares: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, and overlays of
    /// these.
    ///
    /// - SeeAlso: [statfs(2)](https://man7.org/linux/man-pages/man2/statfs.2.html)
    private static let localKinds: Set<UInt32> = [
        0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e, 0x0102_1994, 0x794c_7630,
    ]

    /// Whether every process that can open this file sees its locks. A network file system may keep the locks of each
    /// machine apart, and a FUSE file system those of each mount.
    package var hasLocksOfThisKernel: Bool {
        Self.localKinds.contains(SystemCall.fileSystemKind(of: number))
    }

    /// Takes the file's lock, which the kernel frees when this descriptor or its process ends.
    ///
    /// - Parameter isShared: Whether other descriptors may have a shared lock at the same time.
    /// - Returns: `false` if another descriptor has the lock.
    package func tryLock(isShared: Bool = false) throws(SystemCallError) -> Bool {
        while flock(number, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw SystemCallError("flock", path) }
        }
        return true
    }

    /// Frees the lock, also for a child process that was forked under the lock.
    package func unlock() {
        _ = flock(number, LOCK_UN)
    }

    /// The file's length, or `nil` if the file has lost its name, so that newcomers use another file.
    package func namedLength() throws(SystemCallError) -> Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw SystemCallError("fstat", path) }
        return status.st_nlink > 0 ? status.st_size : nil
    }

    /// Makes the file longer without storing anything in it.
    package func extend(to length: Int) throws(SystemCallError) {
        try checkSizeLimit(length)
        try truncate(to: length)
    }

    /// Sets the file's times of reading and writing.
    package func stamp(_ time: FileTime) throws(SystemCallError) {
        let times = [time.timespec, time.timespec]
        guard unsafe futimens(number, times) == 0 else { throw SystemCallError("futimens", path) }
    }

    /// The names in this directory, in no order, without `.` and `..`.
    package func names() throws(SystemCallError) -> [String] {
        let copy = unsafe openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else {
            let failure = SystemCallError("opendir", path)
            if copy >= 0 { close(copy) }
            throw failure
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe String(cString: UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw SystemCallError("readdir", path) }
        return names
    }
}
