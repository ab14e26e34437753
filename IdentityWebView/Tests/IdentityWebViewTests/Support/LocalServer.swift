// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation

/// A server on this machine, run by another program.
struct LocalServer {
    let port: UInt16
    private let process: Process
    private let directory: URL

    /// Starts a server with a self-signed certificate.
    static func untrusted() throws -> LocalServer {
        let directory = try temporaryDirectory()
        let (key, certificate) = (directory.appending(path: "key").path, directory.appending(path: "certificate").path)
        let request = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]
        try run("/usr/bin/openssl", request).waitUntilExit()
        let server = ["s_server", "-accept", "0", "-key", key, "-cert", certificate, "-www"]
        return try start("/usr/bin/openssl", server, in: directory)
    }

    /// Starts a server that answers every request with a file to download.
    static func downloads() throws -> LocalServer {
        let program = """
            from http.server import BaseHTTPRequestHandler, HTTPServer
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Disposition", "attachment; filename=identity-web-view-test.html")
                    self.end_headers()
                    self.wfile.write(b"<title>Downloaded</title>")
            server = HTTPServer(("127.0.0.1", 0), Handler)
            print("ACCEPT", server.server_port, sep=":", flush=True)
            server.serve_forever()
            """
        return try start("/usr/bin/python3", ["-c", program], in: temporaryDirectory())
    }

    func stop() {
        process.terminate()
        try? FileManager.default.removeItem(at: directory)  // a temporary one
    }

    /// Starts a program and waits for the line that names the port.
    private static func start(_ program: String, _ arguments: [String], in directory: URL) throws -> LocalServer {
        let output = Pipe()
        let process = try run(program, arguments, output)
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
            guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("ACCEPT") }),
                let port = line.split(separator: ":").last.flatMap({ UInt16($0) })
            else { continue }
            return LocalServer(port: port, process: process, directory: directory)
        }
    }

    private static func run(_ program: String, _ arguments: [String], _ output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardOutput = output ?? FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private static func temporaryDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        return directory
    }
}
