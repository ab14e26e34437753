// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import OAuthWire

extension TestIdentityProvider {
    /// A program registered with the provider.
    ///
    /// ```swift
    /// provider.add(TestIdentityProvider.Client(id: "app", redirectURIs: ["myapp://signed-in"]))
    /// ```
    public struct Client: Hashable, Sendable {
        /// The identifier.
        public var id: ClientID
        /// The allowed redirect URIs. Empty means any loopback address. The port of a loopback address is not compared
        /// (RFC 8252 §7.3).
        public var redirectURIs: [String]
        /// The secret that requests must contain, by HTTP Basic or in the form; `nil`, the default, means a client
        /// without a secret.
        public var secret: ClientSecret?

        /// Registers a program.
        public init(id: ClientID = "test-client", redirectURIs: [String] = [], secret: ClientSecret? = nil) {
            self.id = id
            self.redirectURIs = redirectURIs
            self.secret = secret
        }

        func allows(_ redirectURI: String) -> Bool {
            guard let uri = LoopbackAddress(redirectURI) else { return redirectURIs.contains(redirectURI) }
            if redirectURIs.isEmpty { return true }
            return redirectURIs.contains { registered in
                registered == redirectURI
                    || LoopbackAddress(registered).map { $0.host == uri.host && $0.target == uri.target } == true
            }
        }
    }

    /// A person who can sign in.
    ///
    /// ```swift
    /// provider.revokeSessions(of: .alice)
    /// ```
    public struct Person: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        /// The username for the sign-in form, also sent as `preferred_username`.
        public var username: String
        /// The password for the sign-in form.
        public var password: String
        /// The display name.
        public var name: String
        /// The subject (`sub`).
        public var subject: String
        /// Microsoft's `oid`, the person's identifier in the tenant, a GUID.
        public var objectID: String
        /// The tenant to which the person belongs; `nil` means the provider's own.
        public var homeTenantID: String?
        /// The host of the cloud to which the person belongs, such as `login.microsoftonline.us`; `nil` means any address of
        /// the provider.
        ///
        /// The provider of the profile `.entra` answers at this host, too, and issues the person's tokens only there. A
        /// sign-in elsewhere names this cloud if the request is `instance_aware`; otherwise it is refused. On the loopback
        /// interface, the second cloud of a provider at `localhost:PORT` is `127.0.0.1:PORT`.
        public var cloudHost: String?

        /// Creates a person.
        public init(
            username: String,
            password: String,
            name: String,
            subject: String,
            objectID: String,
            homeTenantID: String? = nil,
            cloudHost: String? = nil
        ) {
            self.username = username
            self.password = password
            self.name = name
            self.subject = subject
            self.objectID = objectID
            self.homeTenantID = homeTenantID
            self.cloudHost = cloudHost
        }

        /// Alice, a person whom every provider knows.
        public static let alice = Person(
            username: "alice@example.test",
            password: "correct horse",
            name: "Alice Example",
            subject: "subject-alice",
            objectID: "aaaaaaaa-0000-4000-8000-000000000001"
        )

        /// Bob, a person whom every provider knows.
        public static let bob = Person(
            username: "bob@example.test",
            password: "battery staple",
            name: "Bob Example",
            subject: "subject-bob",
            objectID: "bbbbbbbb-0000-4000-8000-000000000002"
        )

        /// The username.
        public var description: String { "Person(\(username))" }

        /// A mirror of all properties but the password.
        public var customMirror: Mirror {
            Mirror(self, children: ["username": username, "name": name, "subject": subject, "objectID": objectID])
        }
    }
}

/// An address on the loopback interface, split into the parts that are compared.
struct LoopbackAddress {
    var host: String
    var port: UInt16
    /// The path and the query; `/` if there is no path.
    var target: String

    init?(_ uri: String) {
        guard let address = WebAddress(uri), address.scheme == "http" else { return nil }
        host = address.host
        port = address.port ?? 80
        target = address.target
    }
}
