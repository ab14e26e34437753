// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import OAuthWire

extension BrowserQuestion {
    /// The question before the first sign-in at a server that is not configured.
    ///
    /// ```swift
    /// launcher.question = BrowserQuestion(for: resource, at: authority, of: "Example Notes")
    /// ```
    /// - Parameters:
    ///   - resource: The resource for which the person signs in.
    ///   - authority: The server that the resource names.
    ///   - program: The name of the program that will call the resource.
    public init(for resource: ProtectedResource, at authority: Authority, of program: String) {
        self.init(for: resource, at: authority, of: program, resource.scopes)
    }

    /// - Parameters:
    ///   - otherHost: The host of the sign-in page, if the person should know it.
    ///   - others: The other resources for which the server's tokens are here.
    init(
        for resource: ProtectedResource,
        at authority: Authority,
        of program: String,
        _ scopes: Set<Scope>,
        otherHost: String? = nil,
        besides others: Set<String> = []
    ) {
        let isWide = resource.place != resource.identifier
        self.init(
            title: "Sign in for \(WebAddress(resource.identifier)?.environment ?? "an address")?",
            sentences: [
                others.isEmpty
                    ? nil
                    : "You are signed in at this server already, for other addresses. It may give this one a token that is good "
                        + "for them too.",
                "\(program) is about to call an address in your name. For that, it opens the sign-in page of a server that is not "
                    + "configured on this computer.",
                isWide ? "The token would be good for the whole host, and not for this address alone." : nil,
                "Go on only if you know the addresses and want to grant the scopes.",
            ].compactMap(\.self),
            details: [
                Detail(label: "Address", text: resource.place),
                isWide ? Detail(label: "The token is good for", text: resource.identifier) : nil,
                others.isEmpty
                    ? nil : Detail(label: "Signed in already for", text: others.sorted().joined(separator: " ")),
                Detail(label: "Server", text: authority.url),
                otherHost.map { Detail(label: "Its sign-in page is at", text: $0) },
                Detail(label: "Scopes", text: scopes.isEmpty ? "those that the server chooses" : scopes.listing),
                resource.name.map { Detail(label: "The address calls itself", text: $0) },
            ].compactMap(\.self)
        )
    }

    init(for found: FoundResource, besides others: Set<String>) {
        self.init(
            for: found.resource,
            at: found.authority,
            of: found.program,
            found.scopes,
            otherHost: found.otherHost,
            besides: others
        )
    }
}

extension Set<Scope> {
    /// The scopes as a person reads them.
    package var listing: String { map(\.rawValue).sorted().joined(separator: " ") }
}
