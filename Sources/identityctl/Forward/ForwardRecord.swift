// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import OAuthWire
import SystemSupport

/// The phantom and the port of a route, which stand in other programs' files, and so are kept.
struct ForwardRecord: Hashable, Sendable {
    /// The word that programs show in place of the token. It is worth nothing elsewhere.
    let phantom: String
    let port: UInt16

    /// A word that was never used.
    static func newPhantom() -> String { "fwd_\(SecureRandom.token())" }
}

extension ForwardRecord {
    /// Returns the record of a route; `nil` before ``kept(for:in:)`` has made it.
    ///
    /// - Throws: `UsageError` without a home directory, or for a damaged file, or one that others can read; `SystemFailure`.
    static func found(for lines: ForwardLines, in directory: ProfileDirectory) throws -> ForwardRecord? {
        try read(path(of: lines.name, in: directory))?.at(lines.port)
    }

    /// Returns the record of a route; the first call makes it.
    ///
    /// - Throws: As ``found(for:in:)``.
    static func kept(for lines: ForwardLines, in directory: ProfileDirectory) throws -> ForwardRecord {
        if let kept = try found(for: lines, in: directory) { return kept }
        let new = ForwardRecord(phantom: newPhantom(), port: try lines.port ?? freePort())
        do {
            try new.write(to: path(of: lines.name, in: directory), in: .free)
            return new
        } catch let taken as UsageError {
            // Another process was faster.
            guard let kept = try found(for: lines, in: directory) else { throw taken }
            return kept
        }
    }

    /// Returns the route that a program's settings mean, by their phantom, or else by their port; `nil` if there is none.
    static func route(at origin: String, showing phantom: String, in directory: ProfileDirectory) -> (
        lines: ForwardLines, record: ForwardRecord
    )? {
        // A profile that cannot be used has no route.
        let routes = ((try? directory.names()) ?? []).compactMap {
            name -> (lines: ForwardLines, record: ForwardRecord)? in
            guard let profile = try? directory.profile(named: name), let lines = try? ForwardLines(profile),
                let record = try? found(for: lines, in: directory)
            else { return nil }
            return (lines, record)
        }
        return routes.first { $0.record.phantom == phantom }
            ?? routes.first { "http://127.0.0.1:\($0.record.port)" == origin }
    }

    /// Puts another phantom into the record. The old one opens nothing any more, once the forwarder has read the new one.
    ///
    /// - Throws: As ``kept(for:in:)``.
    static func replacePhantom(of lines: ForwardLines, in directory: ProfileDirectory) throws {
        let kept = try kept(for: lines, in: directory)
        let new = ForwardRecord(phantom: newPhantom(), port: kept.port)
        try new.write(to: path(of: lines.name, in: directory), in: .file)
    }

    /// A port that no program has at this moment.
    ///
    /// - Throws: `SystemFailure`.
    static func freePort() throws -> UInt16 { try open(0, advice: "End a few programs, and try again.").port }

    /// Listens on a port of both loopback addresses, so that no other user has one of them.
    ///
    /// - Parameter port: 0 for any that is free.
    /// - Throws: `SystemFailure` with the advice.
    static func open(_ port: UInt16, advice: String) throws -> ListeningSockets {
        do {
            return try ListeningSockets.open(hosts: [.ipv4, .ipv6], port: port)
        } catch let error as LoopbackServerError {
            throw SystemFailure("The forwarder cannot listen: \(error). \(advice)")
        }
    }

    private func at(_ port: UInt16?) -> ForwardRecord { ForwardRecord(phantom: phantom, port: port ?? self.port) }

    private static func path(of name: ProfileName, in directory: ProfileDirectory) throws -> String {
        guard let path = directory.forwardPath(of: name) else {
            throw UsageError("There is no home directory for the forwarder's phantoms: set HOME.")
        }
        return path
    }

    private static func read(_ path: String) throws -> ForwardRecord? {
        let file = try PlainFile.read(path, atMost: 4096) { status in
            guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
                throw UsageError(
                    "\(path.printable): others can read the phantom in this file. For another one, run: rm \(path.shellWord)"
                )
            }
        }
        guard let bytes = file?.bytes else { return nil }
        guard let content = try? JSONObject(parsing: bytes), let phantom = content.string("phantom"),
            phantom.utf8.count >= 32, phantom.utf8.areAlphanumeric(or: "_-"),
            let port = content.integer("port").flatMap(UInt16.init(exactly:)), port > 0
        else {
            throw UsageError("\(path.printable): this file is damaged. To begin it anew, run: rm \(path.shellWord)")
        }
        return ForwardRecord(phantom: phantom, port: port)
    }

    private func write(to path: String, in place: PlainFile.Place) throws {
        let content = JSONObject([("phantom", .string(phantom)), ("port", .integer(port))])
        try PlainFile.write(content.serialized(), to: path, in: place)
    }
}
