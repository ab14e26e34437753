// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

extension SignInOptions {
    /// Returns the address that the browser comes back to.
    ///
    /// - Parameter isManual: Whether the person pastes the address, so that nothing needs to listen there.
    /// - Throws: `UsageError`.
    func redirect(_ environment: Variables, isManual: Bool) throws -> RedirectURI {
        let ports = try environment.given("redirect-ports", redirectPorts).map { ($0, try Self.ports($0)) }
        guard let given = try environment.given("redirect-uri", redirectURI) else {
            return try ports.map { given, range in try given.checked { try .loopback(ports: range) } } ?? .loopback
        }
        if try LoopbackAddress(given) == nil, isManual || Self.hasSchemeOfItsOwn(given) {
            if let (ports, _) = ports, ports.isOption {
                throw ports.error("only a loopback address has a port of those. Leave it or \(given.origin) out.")
            }
            guard let url = URL(string: given.text) else { throw given.error("this is not an address.") }
            return try given.checked { try .custom(url) }
        }
        return try Self.loopback(given, ports: ports)
    }

    private static func hasSchemeOfItsOwn(_ given: Given) -> Bool {
        (try? CustomScheme(String(given.text.prefix { $0 != ":" }))) != nil
    }

    /// Returns an address on the loopback interface where this program can listen.
    static func loopback(_ given: Given, ports: (Given, ClosedRange<UInt16>)?) throws -> RedirectURI {
        guard let loopback = try LoopbackAddress(given) else {
            throw given.error(
                """
                nothing can listen there: without --manual it is http:// on localhost, 127.0.0.1 or [::1], for example \
                http://localhost, or has a scheme of its own (see 'identityctl register-scheme').
                """
            )
        }
        if let ports, loopback.port != nil {
            throw UsageError("\(given.origin) names a port, and \(ports.0.origin) several. Give one of them.")
        }
        let range = loopback.port.map { $0...$0 } ?? ports?.1
        return try given.checked { try .loopback(host: loopback.host, ports: range, path: loopback.path) }
    }

    private static func ports(_ given: Given) throws -> ClosedRange<UInt16> {
        let ends = given.text.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard let first = ends.first ?? nil, let last = ends.last ?? nil, ends.count <= 2, first > 0, first <= last
        else {
            throw given.error("'\(given.text.printable)' is not a range of ports like 8400-8410.")
        }
        return first...last
    }
}

/// A redirect URI on the loopback interface, spelled as given.
private struct LoopbackAddress {
    let host: RedirectURI.LoopbackHost
    let port: UInt16?
    let path: String

    /// - Returns: `nil` if the text is another kind of address.
    init?(_ given: Given) throws {
        let prefix = "http://"
        guard given.text.lowercased().hasPrefix(prefix) else { return nil }
        let rest = given.text.dropFirst(prefix.count)
        let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let authority = rest[..<end].lowercased()
        guard let host = RedirectURI.LoopbackHost.allCases.first(where: { authority.hasPrefix($0.rawValue) }) else {
            return nil
        }
        let tail = authority.dropFirst(host.rawValue.count)
        guard tail.isEmpty || tail.hasPrefix(":") else { return nil }
        port = try tail.isEmpty ? nil : Self.port(tail.dropFirst(), given)
        self.host = host
        path = String(rest[end...])
    }

    private static func port(_ digits: Substring, _ given: Given) throws -> UInt16 {
        guard let port = UInt16(digits), port > 0 else { throw given.error("the port is not one from 1 to 65535.") }
        return port
    }
}
