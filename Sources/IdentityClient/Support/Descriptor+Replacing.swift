// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

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
    func replace(
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
