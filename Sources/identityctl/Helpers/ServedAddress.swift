// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// An address that tokens are for: scheme, host, port, and the beginning of a path.
struct ServedAddress: Hashable, Sendable {
    /// The possible addresses, for an error message.
    static let form = "give an https address, such as https://git.example.com; http only on this machine."

    private let origin: String
    private let segments: [String]

    /// - Returns: `nil` if `text` is no `https` address, nor an `http` address of this computer, or if its path can be
    ///   read in two ways.
    init?(_ text: String) {
        guard let address = WebAddress(text), address.query == nil, !address.path.utf8.contains(UInt8(ascii: "%")),
            !address.segments.contains(where: { $0 == "." || $0 == ".." })
        else { return nil }
        origin = address.origin
        segments = address.segments
    }

    /// - Throws: `UsageError` for an option `--serves` with another text.
    init(option text: String) throws {
        guard let address = ServedAddress(text) else { throw UsageError("--serves: \(Self.form)") }
        self = address
    }

    /// The address in its plain form.
    var text: String { ([origin] + segments).joined(separator: "/") }

    /// The number of path segments.
    var depth: Int { segments.count }

    /// Whether a token for this address may be sent to `other`. Paths are compared by whole segments.
    func serves(_ other: ServedAddress?) -> Bool {
        guard let other else { return false }
        return origin == other.origin && other.segments.starts(with: segments)
    }
}
