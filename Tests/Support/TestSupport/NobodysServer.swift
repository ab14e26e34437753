// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc

/// A server of another user (65534), which refuses each request with 401 and keeps it. Only root can start one.
package final class NobodysServer: Sendable {
    /// The number and the name in the user database of every Linux.
    package static let user = (number: "65534", name: "nobody")
    package static let canStart = geteuid() == 0

    private static let script = """
        import socket, sys
        log = open(sys.argv[2], "ab", 0)
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", int(sys.argv[1])))
        server.listen(20)
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            connection.settimeout(0.2)
            try:
                while data := connection.recv(65536):
                    log.write(data)
            except OSError:
                pass
            try:
                connection.sendall(b"HTTP/1.1 401 Unauthorized\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
            except OSError:
                pass  # the client asked for nothing, and is gone
            connection.close()
        """

    package let port: UInt16
    private let process: Process
    private let directory: TemporaryDirectory
    private let log: String

    /// - Parameter port: A port that is free by now; 0 takes any.
    package init(port: UInt16 = 0) throws {
        directory = try TemporaryDirectory()
        log = directory.path + "/log"
        try Data().write(to: URL(filePath: log))
        // The other user gets nothing but this file.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: log)
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", Self.script, "\(port)", log,
        ]
        let output = try PrivatePipe()
        output.stays(with: process)
        process.standardOutput = output.writing
        try process.run()
        try output.writing.close()
        let line = String(decoding: output.reading.availableData, as: UTF8.self)
        guard let port = UInt16(line.trimmingCharacters(in: .newlines)) else { throw NotStarted() }
        self.port = port
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
    }

    /// The requests that it got.
    package var received: String {
        String(decoding: (try? Data(contentsOf: URL(filePath: log))) ?? Data(), as: UTF8.self)
    }

    package struct NotStarted: Error {}
}
