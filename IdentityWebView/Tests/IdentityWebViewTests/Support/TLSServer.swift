// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A server whose certificate nobody has signed but itself.
struct TLSServer {
    let port: UInt16
    private let process: Process
    private let directory: URL

    /// Starts one with `openssl`, and waits until it takes connections.
    static func start() throws -> TLSServer {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        let (key, certificate) = (directory.appending(path: "key").path, directory.appending(path: "certificate").path)
        let request = try run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ])
        request.waitUntilExit()
        let output = Pipe()
        // Port 0 is any free one; which it is, stands in the first line.
        let server = try run(["s_server", "-accept", "0", "-key", key, "-cert", certificate, "-www"], output)
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            text += String(decoding: data, as: UTF8.self)
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }),
                let port = line.split(separator: ":").last.flatMap({ UInt16($0) })
            else { continue }
            return TLSServer(port: port, process: server, directory: directory)
        }
        throw CocoaError(.fileReadUnknown)
    }

    func stop() {
        process.terminate()
        try? FileManager.default.removeItem(at: directory)  // a temporary one
    }

    private static func run(_ arguments: [String], _ output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardOutput = output ?? FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }
}
