// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Foundation

/// A temporary certificate authority with TLS servers, made with the `openssl` command.
package final class CertificateAuthority: Sendable {
    package static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    struct Failure: Error { var arguments: [String] }

    private let temporary: TemporaryDirectory
    /// The directory of all files, removed with the object.
    package var directory: URL { URL(fileURLWithPath: temporary.path) }
    /// The authority's certificate (PEM).
    package var certificate: String { directory.appendingPathComponent("ca.pem").path }

    /// Makes the authority's key and certificate.
    package static func make() async throws -> CertificateAuthority {
        try await onThread { try CertificateAuthority() }
    }

    private init() throws {
        temporary = try TemporaryDirectory()
        try run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=Throw-away CA", "-keyout", "ca.key", "-out", "ca.pem",
        ])
        try run(["rehash", "."])
    }

    /// Makes a certificate for a name, which is also its common name: the files `NAME.pem` and `NAME.key`.
    package func certify(_ name: String) async throws {
        try await Self.onThread { [self] in try makeCertificate(for: name) }
    }

    private func makeCertificate(for name: String) throws {
        try run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-CA", "ca.pem", "-CAkey", "ca.key", "-subj", "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name)",
            "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "\(name).key", "-out", "\(name).pem",
        ])
    }

    /// Starts a server that has a certificate for `host`, and answers every `GET` with a page; with the option `-HTTP`,
    /// with the answers in the files of the directory.
    package func server(for host: String, _ options: String...) async throws -> (process: Process, port: UInt16) {
        try await Self.onThread { [self] in try startServer(for: host, options) }
    }

    private func startServer(for host: String, _ options: [String]) throws -> (process: Process, port: UInt16) {
        try makeCertificate(for: host)
        let process = command(
            ["s_server", "-www", "-accept", "127.0.0.1:0", "-cert", "\(host).pem", "-key", "\(host).key"] + options
        )
        let output = try PrivatePipe()
        output.stays(with: process)
        process.standardOutput = output.writing
        try process.run()
        try output.writing.close()
        var text = ""
        while true {
            let chunk = output.reading.availableData
            guard !chunk.isEmpty else { throw Failure(arguments: ["s_server"]) }
            text += String(decoding: chunk, as: UTF8.self)
            for line in text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1)
            where line.hasPrefix("ACCEPT") {
                guard let port = line.split(separator: ":").last.flatMap({ UInt16($0) }) else { continue }
                return (process, port)
            }
        }
    }

    /// Waiting for a command would block the threads that all tests share.
    private static func onThread<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }

    private func run(_ arguments: [String]) throws {
        let process = command(arguments)
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(arguments: arguments) }
    }

    private func command(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        return process
    }
}
