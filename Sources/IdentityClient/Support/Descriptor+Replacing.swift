// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension Descriptor {
    /// Writes a new file and renames it to `name` in this directory, so that a reader finds the old or the new file,
    /// complete. Whether the name survives a crash is left to the caller, who synchronizes the directory.
    ///
    /// - Parameters:
    ///   - temporary: The name of the new file until then. It must not exist.
    ///   - stamp: The time that the new file gets. The kernel's time stamps have the resolution of a clock tick; a stamp
    ///     of its own tells two writes within a tick apart.
    ///   - mayReplace: Called last before the rename; an error leaves the old file.
    /// - Returns: The status of the new file, and whether the file system stored the stamp as it is. Otherwise time must
    ///   pass before the status tells later changes apart.
    func replace(
        _ name: String,
        with bytes: [UInt8],
        through temporary: String,
        stamp: FileTime,
        isDurable: Bool = true,
        mayReplace: () throws -> Void = {}
    ) throws -> (fingerprint: FileFingerprint, isSettled: Bool) {
        let file = try newFile(temporary)
        do {
            try file.write(bytes)
            try? file.stamp(stamp)  // If setting it fails, the status is not settled.
            if isDurable { try file.synchronize() }
            try mayReplace()
            try rename(temporary, to: name)
        } catch {
            try? remove(temporary)  // The first failure is the one to tell.
            throw error
        }
        let fingerprint = try file.status().fingerprint
        return (fingerprint, fingerprint.modified == stamp)
    }
}
