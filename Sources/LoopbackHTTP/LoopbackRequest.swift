// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A complete request. All its content is untrusted: any program on this machine may be the sender.
package struct LoopbackRequest: Sendable {
    /// As sent, in the sender's case.
    package let method: String

    /// The request target as sent: `/path?query`, or `*`.
    package let target: String

    /// The target up to the first `?`, percent-encoding kept.
    package let path: String

    /// The target after the first `?`, percent-encoding kept; `nil` without `?`.
    package let query: String?

    package let headers: LoopbackHeaders

    package let body: [UInt8]

    /// The sender; `nil` over a socket in the file system, where it is always this user.
    package internal(set) var peer: LoopbackPeer?

    package init(method: String, target: String, headers: LoopbackHeaders = [:], body: [UInt8] = []) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        query = parts.count == 2 ? String(parts[1]) : nil
    }
}

extension LoopbackRequest: CustomStringConvertible, CustomReflectable {
    /// Method and path only, because query, headers and body may carry secrets.
    package var description: String { "\(method) \(path)" }

    package var customMirror: Mirror { Mirror(self, children: ["method": method, "path": path]) }
}
