// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityCapture
import IdentityClient
import OAuthWire

/// A capture of the exchange with the provider, and the file that it goes to.
struct Recording {
    let path: String
    let command: String
    let capture = ExchangeCapture()

    /// Writes the file without entries: a path that cannot be written is an error before the exchange.
    ///
    /// - Throws: The errors of `PlainFile.write`.
    func begin() throws { try write(facts: []) }

    /// Writes what was exchanged.
    ///
    /// - Parameter error: The error that ended the command.
    func end(_ status: ExitStatus, _ error: (any Error)?) async throws {
        var facts: [(String, JSONValue)] = [("exitStatus", .integer(status.rawValue))]
        if let error { facts.append(("error", .string(JSONReport.code(of: error)))) }
        // A libcurl that cannot be loaded is an error of the requests.
        if let version = try? await CurlTransport.libraryVersion() { facts.append(("libcurl", .string(version))) }
        try write(facts: facts)
    }

    private func write(facts: [(String, JSONValue)]) throws {
        let own: [(String, JSONValue)] = [
            ("command", .string("identityctl \(command)")), ("system", .string(Self.system)),
        ]
        let text = capture.object(with: own + facts).indented(by: "  ")
        try PlainFile.write(Array("\(text)\n".utf8), to: path)
    }

    /// The kernel's name, version and architecture.
    private static var system: String {
        var names = utsname()
        guard unsafe uname(&names) == 0 else { return "unknown" }
        func text<Field>(_ field: Field) -> String {
            unsafe withUnsafeBytes(of: field) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))".printable
    }
}
