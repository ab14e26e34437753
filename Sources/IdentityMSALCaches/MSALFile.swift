// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import OAuthWire
import SystemSupport

/// The file of a shared cache: read without a lock, and replaced as a whole under the lock file of its programs.
///
/// The other programs write in place, so that a reader may find an empty or half-written file. It then reads again, and
/// at last under the lock, where no other program writes.
struct MSALFile: Hashable, Sendable {
    let path: String
    let lockPath: String

    /// The content of the file, and the status that shows whether it is still the same.
    struct Content: Sendable {
        let blob: MSALBlob
        /// `nil` if there was no file.
        let fingerprint: FileFingerprint?
        let isSettled: Bool
    }

    /// Thrown for a file that is empty or no JSON: perhaps a program is just writing it.
    private struct Unfinished: Error {
        let reason: JSONError?
    }

    /// Reads the file; returns `nil` if it looks unfinished.
    func read() throws -> Content? {
        do {
            return try content()
        } catch is Unfinished {
            return nil
        }
    }

    /// Reads the file under the lock, where it is complete. An empty file is a cache without entities.
    /// - Throws: `.cache` for content that is not a cache. It is not touched.
    func readFinished() throws -> Content {
        do {
            return try content(isFinished: true)
        } catch let failure as Unfinished {
            let reason = failure.reason.map { " (\($0.reason.rawValue) at byte \($0.offset))" } ?? ""
            throw AuthenticationError(
                .cache,
                """
                \(path) is not a token cache that can be read\(reason). It was left as it is. If its programs cannot \
                read it either, move it away and sign in again.
                """
            )
        }
    }

    private func content(isFinished: Bool = false) throws -> Content {
        let now = SystemCall.now  // First, so that later changes look newer.
        guard let directory = try openDirectory(), let file = try directory.file(FilePath.split(path).name) else {
            return Content(blob: MSALBlob(), fingerprint: nil, isSettled: true)
        }
        let status = try file.status()
        try SecureFile.checkLock(status, path: path)
        guard status.fingerprint.size <= MSALBlob.sizeLimit else {
            throw AuthenticationError(.cache, "\(path) is larger than 16 MiB, so it is not read as a token cache.")
        }
        let bytes = try file.read(atMost: Int(status.fingerprint.size))
        guard isFinished || !bytes.isEmpty else { throw Unfinished(reason: nil) }
        let isSettled = status.fingerprint.isSettled(at: now)
        do {
            return Content(blob: try MSALBlob(parsing: bytes), fingerprint: status.fingerprint, isSettled: isSettled)
        } catch {
            throw Unfinished(reason: error)
        }
    }

    /// Replaces the file. A reader finds the old file or the new one, complete.
    ///
    /// The new file's time is two seconds ahead. MSAL Python reads a file again if its time is later than that of the
    /// last reading, which it takes from the clock after reading; a change in between would be overwritten unseen.
    /// - Throws: `.cacheBusy` if the lock was lost.
    func write(
        _ blob: MSALBlob,
        under lock: borrowing MSALLock,
        reserved: ReservedFile? = nil
    ) throws -> Content {
        let bytes = blob.serialized()
        guard bytes.count <= MSALBlob.sizeLimit else {
            throw AuthenticationError(.cacheFull, "\(path) would become larger than 16 MiB. Sign accounts out.")
        }
        guard let directory = try openDirectory() else { throw SystemCallError("open", path, number: ENOENT) }
        let name = FilePath.split(path).name
        let temporary = ".\(name).identity-new"
        // Written only under the lock: the file of this name was left by a process that died.
        if try directory.status(of: temporary) != nil { try directory.remove(temporary) }
        var ahead = SystemCall.now.timespec
        ahead.tv_sec += 2
        let stamp = FileTime(ahead)
        let written = try directory.replace(name, with: bytes, through: temporary, reserved: reserved, stamp: stamp) {
            guard lock.isHeld else {
                throw AuthenticationError(.cacheBusy, "Another program took the lock \(lockPath). Try again.")
            }
        }
        try directory.synchronize()
        return Content(blob: blob, fingerprint: written.fingerprint, isSettled: written.isSettled)
    }

    /// Opens the file of a later write under the lock, with space for `content` and `bytes` more. Removes what dead
    /// processes have left of that.
    func reserve(_ bytes: Int, beside content: Content) throws -> ReservedFile {
        guard let directory = try openDirectory() else { throw SystemCallError("open", path, number: ENOENT) }
        let prefix = ".\(FilePath.split(path).name).identity-new-"
        for name in try directory.names() where name.hasPrefix(prefix) {
            if let file = try directory.file(name), try file.tryLock() { try directory.remove(name) }
        }
        let size = min(Int(content.fingerprint?.size ?? 0) + bytes, MSALBlob.sizeLimit)
        return try ReservedFile(prefix + String(UInt64.random(in: .min ... .max), radix: 16), size, in: directory)
    }

    /// Creates the directories that the file and its lock need.
    func createDirectories() throws {
        for path in [path, lockPath] { try SecureDirectory.create(forFile: path) }
    }

    private func openDirectory() throws -> Descriptor? {
        let parent = FilePath.split(path).directory
        guard let directory = try Descriptor.directory(parent) else { return nil }
        try SecureFile.checkDirectory(directory.status(), path: parent)
        return directory
    }
}
