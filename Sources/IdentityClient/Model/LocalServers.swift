// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP
import OAuthWire
import SystemSupport

/// The users who served the addresses of a sign-in that are on this computer and without TLS.
///
/// Every user may take a port when the program there has ended, and would get the token that comes next. So a token goes to
/// programs of this user and of root, and to others only if they had the port at the sign-in.
package struct LocalServers: Hashable, Sendable {
    /// By host and port, the others who served them: numbers of users, or ``unlisted``.
    private var others: [String: String] = [:]

    /// The kernel hands the port on, or the program is in another namespace.
    private static let unlisted = "unlisted"

    package init() {}

    /// The servers that now have these addresses.
    package init(at addresses: [String?]) {
        for place in addresses.lazy.compactMap({ $0.flatMap(Self.place) }) {
            others[place.environment] = Self.other(at: place)
        }
    }

    /// Whether a token goes to an address in the clear.
    package static func isOne(_ address: String?) -> Bool { address.flatMap(place) != nil }

    /// Checks who has the port of an address now, if it is without TLS.
    ///
    /// - Parameter acceptsUnlisted: Whether a port without a socket will do although the sign-in saw no such thing.
    /// - Throws: `.untrustedAuthority` for a user who did not have it at the sign-in, `.connectionFailed` for a port without a socket.
    package func check(_ address: String, acceptsUnlisted: Bool = false) throws {
        guard let place = Self.place(address), let other = Self.other(at: place), other != others[place.environment],
            !acceptsUnlisted || other != Self.unlisted
        else { return }
        let name = UInt32(other).map { number in SystemCall.name(ofUser: number).map { "\($0) (\(number))" } ?? other }
        throw AuthenticationError(
            name == nil ? .connectionFailed : .untrustedAuthority,
            """
            \(name.map { "The user \($0) listens" } ?? "No program that this user can see listens") at \(place.origin), and did \
            not at the sign-in, so no token was sent there. Start the right server; if that is the right one, sign in again.
            """
        )
    }

    private static func place(_ address: String) -> WebAddress? {
        WebAddress(address, maximumLength: .max).flatMap { $0.scheme == "http" ? $0 : nil }
    }

    private static func other(at place: WebAddress) -> String? {
        let trusted: Set<LoopbackPeer.Owner> = [.user(SystemCall.effectiveUser), .user(0)]
        let others = LoopbackListener.owners(at: place.host, port: place.port ?? 80).subtracting(trusted)
        let names = others.map { owner in if case .user(let number) = owner { "\(number)" } else { unlisted } }
        return names.isEmpty ? nil : names.sorted().joined(separator: " ")
    }
}

// The member of a record.
extension LocalServers {
    init(_ json: JSONObject) {
        for member in json.members { others[member.name] = member.value.string }
    }

    /// `nil` if there is nothing to remember.
    var json: JSONValue? {
        others.isEmpty
            ? nil : .object(JSONObject(others.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }
}
