// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

extension Descriptor {
    /// Takes the file's lock, which the kernel frees when this descriptor or its process ends.
    ///
    /// - Parameter isShared: Whether other descriptors may have a shared lock at the same time.
    /// - Returns: `false` if another descriptor has the lock.
    func tryLock(isShared: Bool = false) throws(SystemCallError) -> Bool {
        while flock(number, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            if errno != EINTR { throw SystemCallError("flock", path) }
        }
        return true
    }

    /// Frees the lock, also for a child process that was forked under the lock.
    func unlock() {
        _ = flock(number, LOCK_UN)
    }

    /// The file's length, or `nil` if the file has lost its name, so that newcomers use another file.
    func namedLength() throws(SystemCallError) -> Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { throw SystemCallError("fstat", path) }
        return status.st_nlink > 0 ? status.st_size : nil
    }

    /// Makes the file longer without storing anything in it.
    func extend(to length: Int) throws(SystemCallError) {
        try checkSizeLimit(length)
        try truncate(to: length)
    }

    /// Sets the file's times of reading and writing.
    func stamp(_ time: FileTime) throws(SystemCallError) {
        let times = [time.timespec, time.timespec]
        guard unsafe futimens(number, times) == 0 else { throw SystemCallError("futimens", path) }
    }

    /// The names in this directory, in no order, without `.` and `..`.
    func names() throws(SystemCallError) -> [String] {
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
