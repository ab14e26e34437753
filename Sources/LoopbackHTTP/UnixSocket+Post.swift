// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
package import SystemSupport

extension UnixSocket {
    /// How a delivery ended.
    package enum Answer: Hashable, Sendable {
        /// The HTTP status of the answer.
        case status(Int)
        /// The listener is gone.
        case gone
        /// Another user listens, or no answer came in time.
        case none
    }

    /// Posts `body` to the HTTP server at `path`, and waits for the status. The call blocks for at most
    /// `timeoutSeconds` seconds.
    package static func post(_ body: [UInt8], toServerAt path: String, timeoutSeconds: Int) -> Answer {
        guard let descriptor = connect(to: path, timeoutSeconds: timeoutSeconds) else {
            return [ECONNREFUSED, ENOENT].contains(errno) ? .gone : .none
        }
        guard peer(of: descriptor)?.user == geteuid() else { return .none }
        let head = """
            POST /redirect HTTP/1.1\r
            Host: localhost\r
            Content-Type: text/plain\r
            Content-Length: \(body.count)\r
            Connection: close\r
            \r

            """
        var rest = (Array(head.utf8) + body)[...]
        while !rest.isEmpty {
            guard case .bytes(let count) = descriptor.send(rest) else { return .none }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 512)
        while answer.count < 12 {
            guard case .bytes(let count) = descriptor.receive(into: &buffer) else { return .none }
            answer += buffer[..<count]
        }
        let words = String(decoding: answer.prefix(12), as: UTF8.self).split(separator: " ")
        return words.count == 2 ? Int(words[1]).map { .status($0) } ?? .none : .none
    }
}
