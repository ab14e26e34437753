// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import SystemSupport

/// The directory of the files of a companion. Its name tells which process is the command.
enum CompanionDirectory {
    /// The names of the files that a companion may have there.
    static let names = ["token", "forward", "npmrc"]

    /// Removes a directory with its files.
    static func remove(_ path: String) {
        for name in names { unsafe unlink("\(path)/\(name)") }
        unsafe rmdir(path)
    }

    /// Makes a directory for this user alone, in memory where the system has a place for that. Removes those that killed
    /// companions left there.
    static func make(_ environment: Variables) throws -> String {
        let command = ProcessTable.current()
        let places = [environment["XDG_RUNTIME_DIR"], environment["TMPDIR"], "/tmp"]
        for place in places.compactMap({ $0 }) where place.hasPrefix("/") {
            // The next place may be root's.
            guard (try? PlainFile.refuseForeignHome(of: "\(place)/token")) != nil else { continue }
            removeLeftovers(in: place, command)
            var template = CText("\(place)/\(prefix(command))\(command.pid)-\(command.startTime)-XXXXXX")
            guard unsafe mkdtemp(&template) != nil else { continue }
            return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        throw SystemFailure("No directory for the token's file could be made in XDG_RUNTIME_DIR or /tmp", number: errno)
    }

    /// The beginning of the names whose process numbers mean the same as here.
    private static func prefix(_ process: ProcessIdentity) -> String {
        "identityctl-\(process.bootID.prefix(8))-\(process.pidNamespace.filter(\.isNumber))-"
    }

    private static func removeLeftovers(in place: String, _ own: ProcessIdentity) {
        guard own.sees(own) else { return }
        let prefix = prefix(own)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? [] where name.hasPrefix(prefix) {
            let parts = name.dropFirst(prefix.count).split(separator: "-")
            guard parts.count == 3, let pid = Int(parts[0]) else { continue }
            var command = own
            command.pid = pid
            command.startTime = String(parts[1])
            var status = stat()
            let path = "\(place)/\(name)"
            guard ProcessTable.isDead(command), unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR,
                status.st_uid == geteuid()
            else { continue }
            remove(path)
        }
    }
}
