// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient
import SystemSupport

/// The tokens of GNOME Online Accounts, where a person has signed in by the desktop's settings. The client is GNOME's, so that none
/// has to be registered.
///
/// - SeeAlso: [org.gnome.OnlineAccounts.OAuth2Based](https://gnome.pages.gitlab.gnome.org/gnome-online-accounts/)
struct GNOMEAccounts: TokenSource {
    /// The value of the line `source`.
    static let name = "gnome-online-accounts"

    private static let service = "org.gnome.OnlineAccounts"
    private static let path = "/org/gnome/OnlineAccounts"
    /// The time for one call: the service may ask the provider.
    private static let patience = Duration.seconds(30)

    /// An account of the desktop.
    fileprivate struct Found {
        let path: String
        let id: String
        let identity: String
        let needsPerson: Bool
    }

    /// - Returns: `nil` for a profile without the line `source`.
    /// - Throws: `UsageError` for another source.
    init?(_ profile: Profile?) throws {
        guard let given = profile?.given("source") else { return nil }
        guard given.text == Self.name else {
            throw given.error("'\(given.text.printable)' is no source of tokens. Possible is: \(Self.name).")
        }
    }

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        guard !wanted.isIDToken, wanted.scheme == .bearer else {
            throw AuthenticationError(.unsupported, "GNOME Online Accounts gives access tokens alone.")
        }
        guard !wanted.usesCacheOnly else {
            throw AuthenticationError(.networkNotAllowed, "GNOME Online Accounts may ask the provider for any token.")
        }
        let bus = try await Self.connect()
        let account = try await Self.account(wanted.person ?? wanted.account?.text, on: bus)
        var (token, left) = try await Self.token(of: account, on: bus)
        if token == wanted.refusedToken || wanted.forcesRefresh || left < wanted.minimumValidity {
            _ = try await Self.call("EnsureCredentials", of: "Account", at: account.path, "(i)", on: bus)
            (token, left) = try await Self.token(of: account, on: bus)
        }
        let result = AuthenticationResult(
            accessToken: token,
            expiresOn: Date.now + TimeInterval(left.wholeSeconds),
            scopes: [],
            account: Account(
                id: Account.ID(rawValue: account.id),
                environment: Self.name,
                username: account.identity
            ),
            source: .cache
        )
        return HandedToken(result: result, report: JSONReport.result(result, persisted: true))
    }

    /// Returns the name of the account that would give the token.
    ///
    /// - Throws: As ``token(_:)``.
    func accountName(_ named: Given?) async throws -> String {
        try await Self.account(named?.text, on: Self.connect()).identity
    }

    private static func connect() async throws -> BusConnection {
        do {
            let thread = try await GLibThread.running(library: MessageBus.library)
            guard let address = MessageBus.session() else { throw unavailable("There is no session bus here.", nil) }
            return try await BusConnection.connect(to: address, on: thread).value()
        } catch let problem as LibraryProblem {
            throw unavailable("GLib is not installed, or too old.", problem)
        } catch let failure as GLibFailure {
            throw unavailable("The session bus cannot be used.", failure)
        }
    }

    /// Returns the account with a name, or else the only one that has tokens.
    private static func account(_ name: String?, on bus: BusConnection) async throws -> Found {
        let objects = try await call(
            "GetManagedObjects",
            of: "org.freedesktop.DBus.ObjectManager",
            at: path,
            "(a{oa{sa{sv}}})",
            on: bus
        )
        let accounts = (objects[0]?.parts ?? []).compactMap(Found.init)
        let fitting = accounts.filter { account in
            guard let name else { return true }
            return account.id == name || account.identity.lowercased() == name.lowercased()
        }
        guard fitting.count < 2 else {
            let names = fitting.map(\.identity.printable).joined(separator: ", ")
            throw AccountNotChosen(
                "GNOME Online Accounts has several accounts: \(names). Add a line account to the profile."
            )
        }
        guard let account = fitting.first else {
            let what = name.map { "no account '\($0.printable)'" } ?? "no account with tokens"
            throw needed("GNOME Online Accounts has \(what).")
        }
        guard !account.needsPerson else { throw needed("The sign-in of \(account.identity.printable) has ended.") }
        return account
    }

    private static func token(of account: Found, on bus: BusConnection) async throws -> (String, Duration) {
        let answer = try await call("GetAccessToken", of: "OAuth2Based", at: account.path, "(si)", on: bus)
        guard let token = answer[0]?.text, let seconds = answer[1]?.int32, !token.isEmpty else {
            throw needed("GNOME Online Accounts has no token of \(account.identity.printable).")
        }
        // 0 stands for a life that is not known.
        return (token, .seconds(seconds > 0 ? Int(seconds) : 300))
    }

    private static func call(
        _ method: String,
        of interface: String,
        at path: String,
        _ type: String,
        on bus: BusConnection
    ) async throws -> Variant {
        do {
            return try await bus.call(
                method,
                of: interface.contains(".") ? interface : "\(service).\(interface)",
                at: path,
                in: service,
                returning: type,
                startsService: true,
                timeout: patience
            )
        } catch let failure as GLibFailure {
            switch failure.name?.split(separator: ".").last.map(String.init) {
            case "NotAuthorized": throw needed("The provider does not accept the sign-in any more.")
            case "ServiceUnknown", "NameHasNoOwner", "UnknownMethod", "UnknownObject":
                throw unavailable(
                    "GNOME Online Accounts is not here. Install it: apt install gnome-online-accounts",
                    failure
                )
            default:
                throw AuthenticationError(
                    .network,
                    "GNOME Online Accounts could not get the token: \(failure.message.prefix(300)).",
                    underlyingError: failure
                )
            }
        }
    }

    private static func needed(_ text: String) -> AuthenticationError {
        AuthenticationError(
            .loginRequired,
            text,
            underlyingError: AgentAdvice(text: "To sign in, open the desktop's Settings, Online Accounts.")
        )
    }

    private static func unavailable(_ text: String, _ cause: (any Error)?) -> AuthenticationError {
        AuthenticationError(.cache, text, underlyingError: cause)
    }
}

extension GNOMEAccounts.Found {
    /// - Returns: `nil` for an object that has no tokens.
    fileprivate init?(_ object: Variant) {
        let service = "org.gnome.OnlineAccounts"
        var interfaces: [String: Variant] = [:]
        for interface in object[1]?.parts ?? [] { interfaces[interface[0]?.text ?? ""] = interface[1] }
        var values: [String: Variant] = [:]
        for property in interfaces["\(service).Account"]?.parts ?? [] {
            values[property[0]?.text ?? ""] = property[1]?.content
        }
        guard interfaces["\(service).OAuth2Based"] != nil, let path = object[0]?.text,
            let id = values["Id"]?.text, let identity = values["PresentationIdentity"]?.text ?? values["Identity"]?.text
        else { return nil }
        (self.path, self.id, self.identity) = (path, id, identity)
        needsPerson = values["AttentionNeeded"]?.bool ?? false
    }
}
