// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityResources
import OAuthWire

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
            !PercentEncoding.isDoubtfulPath(address.path)
        else { return nil }
        origin = address.origin
        segments = address.segments
    }

    /// An address that a program asks a token for. The query counts for nothing.
    ///
    /// - Returns: `nil` if no token is for such an address: see ``init(origin:path:)``.
    init?(asked text: String) {
        guard let scheme = text.utf8.firstRange(of: "://".utf8) else { return nil }
        let rest = text.utf8[scheme.upperBound...]
        let end = rest.firstIndex(where: "/?".utf8.contains) ?? rest.endIndex
        let path = String(Substring(rest[end...].prefix { !"?#".utf8.contains($0) }))
        self.init(origin: String(text[..<end]), path: path)
    }

    /// An address whose path has any bytes, encoded or, as git sends it, decoded.
    ///
    /// A served path is plain, so that the path counts up to its first segment that is not. A path that a server could read
    /// in another way counts as none: then only an address without a path serves it.
    /// - Returns: `nil` if `origin` is no scheme, host and port of an `https` address, or an `http` address of this computer.
    init?(origin text: String, path: String) {
        guard let address = WebAddress(text), address.path.isEmpty, address.query == nil else { return nil }
        origin = address.origin
        let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        segments =
            PercentEncoding.isDoubtfulPath(path)
            ? [] : Array(parts.prefix { $0.utf8.areVisible && !$0.utf8.contains(where: "%?#".utf8.contains) })
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

/// The addresses that a profile's token is for.
struct TokenReach {
    private let profile: Profile

    init(of profile: Profile) { self.profile = profile }

    /// Returns whether the token is for an address: that of the profile's resource, or one below, or else one that it serves.
    ///
    /// - Throws: As `served()`.
    func includes(_ url: String) throws -> Bool {
        if let place = profile.place ?? profile.given("resource")?.text {
            return KnownResource.reaches(url, from: place)
        }
        return try ServedAddress(asked: url).flatMap { try depth(of: $0) } != nil
    }

    /// Returns the addresses that the profile serves.
    ///
    /// - Throws: `UsageError` for a served address that gets no tokens.
    func served() throws -> [ServedAddress] {
        try profile.each("serves").flatMap { given in
            try given.words.map { word in
                guard let served = ServedAddress(word) else { throw given.error(ServedAddress.form) }
                return served
            }
        }
    }

    /// Returns how far an address is among those that the profile serves: the number of path segments that fit, or
    /// `nil` if it is not among them.
    ///
    /// - Throws: As `served()`.
    func depth(of address: ServedAddress) throws -> Int? {
        try served().filter { $0.serves(address) }.map(\.depth).max()
    }
}

extension URL {
    /// Creates the address that a command calls with a token.
    ///
    /// - Throws: `UsageError` for an address that no token goes to.
    init(called text: String) throws {
        let scheme = text.utf8.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)[0]
        let names = ["https", "http"].map { Array($0.utf8) }
        guard names.contains(String(decoding: scheme, as: UTF8.self).lowercased().utf8.map(\.self)) else {
            throw UsageError(
                "'\(text.printable)' is no web address. Start it with https://, or with http:// for this computer itself."
            )
        }
        guard let url = URL(string: text) else { throw UsageError("'\(text.printable)' is not a URL.") }
        guard url.scheme?.lowercased() != "http" || ServedAddress(asked: text) != nil else {
            throw UsageError(
                "'\(text.printable)': a token goes to an https address; over http only to this computer."
            )
        }
        self = url
    }
}
