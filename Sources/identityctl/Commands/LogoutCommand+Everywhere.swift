// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import IdentityClient
import IdentityKeyring
import IdentityResources
import OAuthWire

extension LogoutCommand {
    /// Signs out the accounts of all profiles, of all known resources and of the client that is named, and then whoever is left in
    /// the command's store. Revokes what can be revoked, and goes on after a failure.
    ///
    /// - Throws: `Ended` with the status of the first failure, which was told; `CancellationError`.
    func signOutEverywhere(_ session: Session) async throws {
        var everywhere = SignOutEverywhere(command: self, session: session)
        let environment = session.environment
        // A mistake in these options is none of the others, and what they are about is found in the store.
        if provider.namesOne(environment), let own = try? configuration(provider, session) {
            try await everywhere.signOut("the client that is named") { own }
        }
        // A variable that names a client would stand above each profile's lines.
        let naming = (Setting.ofProvider + Setting.ofRequest).filter {
            !["cache", "ca-file", "proxy"].contains($0.name)
        }
        let others = naming.reduce(environment.above(nil)) {
            $0.replacing(Variables.variable(for: $1.name), with: "")
        }
        session.follow(TokenRoute(variables: others))
        let (directory, none) = (try ProfileDirectory(environment), try ProviderOptions.ungiven)
        for name in try directory.names() {
            try await everywhere.signOut("profile '\(name)'") {
                session.use(try directory.profile(named: name))
                return try configuration(none, session)
            }
        }
        for resource in try KnownResources(environment).all() {
            try await everywhere.signOut(resource.given("resource")?.text.printable ?? "") {
                session.use(resource)
                return try configuration(none, session)
            }
        }
        session.use(nil)
        try await everywhere.signOutRest()
        if session.isJSON { try session.result(everywhere.reports.line + "\n") }
        if everywhere.reports.isEmpty { session.console.line("No account is signed in.") }
        session.console.line(
            "Sign-ins that rest elsewhere, in a directory, file or item that only --cache names, are not among these."
        )
        if let failure = everywhere.failure { throw Ended(status: failure) }
    }

    /// Returns the configuration of a client that options and lines name.
    private func configuration(_ options: ProviderOptions, _ session: Session) throws -> ClientConfiguration {
        try options.configuration(session.environment, passPhrases: session.passPhrases, logger: session.logger)
    }
}

/// The sign-outs of `logout --everywhere` so far.
private struct SignOutEverywhere {
    let command: LogoutCommand
    let session: Session
    /// A report on each account, and on each client whose accounts stay signed in.
    private(set) var reports: [JSONObject] = []
    /// The status of the first failure.
    private(set) var failure: ExitStatus?

    init(command: LogoutCommand, session: Session) {
        (self.command, self.session) = (command, session)
    }

    /// Signs out the accounts of a client.
    ///
    /// - Parameters:
    ///   - label: The words for the client.
    ///   - make: Makes the client's configuration.
    mutating func signOut(_ label: String, _ make: () throws -> ClientConfiguration) async throws {
        do {
            var configuration = try make()
            configuration.browser = command.signOutBrowser(
                try command.browser.command(session.environment),
                session.console
            )
            configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "identityctl")
            if let pending = try? PendingSignIns(configuration) { _ = pending.removeAll() }  // they would sign in again
            let application = try session.application(configuration)
            var parameters = try command.signOutParameters(session.environment)
            parameters.revokesTokens = true
            for account in try await session.listing({ try await application.allAccounts() }) {
                let result = try await command.signOut(account, parameters, application, session)
                session.signedOutOfProfile { $0.id == account.id.rawValue }
                reports.append(JSONReport.signOut(account, result))
                if let failure = result.failure { fail(ExitStatus(for: failure)) }
                if case .unavailable = result.revocation { fail(.revocationUnavailable) }
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            tell(label, error)
        }
    }

    private mutating func fail(_ status: ExitStatus) { failure = failure ?? status }

    private mutating func tell(_ label: String, _ error: any Error) {
        session.console.line("Warning: \(label): its accounts stay signed in. \(PlainReport.sentence(error))")
        var report = JSONReport.error(error)
        report["signedIn"] = .string(label)
        reports.append(report)
        fail(ExitStatus(for: error))
    }

    /// Signs out the accounts that are left in the command's store, of whatever client and program.
    mutating func signOutRest() async throws {
        let choice = try command.provider.cacheChoice(session.environment)
        guard choice.policy != nil || choice.directory != nil else { return }
        let root = try choice.directory ?? FileTokenCache().directory()
        guard unsafe access(root, R_OK) == 0 else {
            if errno == ENOENT { return }
            throw PlainFile.unreadable(root)
        }
        // Each group has a directory, which holds no more than the name of the store if that is a keyring.
        for name in try FileManager.default.contentsOfDirectory(atPath: root).sorted() where !name.hasPrefix(".") {
            let group = CacheGroup(unchecked: name)
            let found: (clients: [StoredClient], cache: any TokenCache, hasRegistrations: Bool)
            do {
                found = try await Self.clients(of: group, choice, session)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                tell("\(root.printable)/\(name.printable)", error)
                continue
            }
            for client in found.clients {
                let transport = try command.provider.transport(session.environment)
                try await signOut("\(client.id.printable) at \(client.partition.printable)") {
                    var configuration = try client.configuration(group, found.cache)
                    if found.hasRegistrations { configuration.readSecretOfRegistration(in: found.cache) }
                    configuration.transport = transport
                    return configuration
                }
            }
        }
    }

    /// Returns the clients whose accounts are in a group, the cache that has them, and whether this tool's registrations are there:
    /// no store is chosen for those now.
    private static func clients(
        of group: CacheGroup,
        _ choice: CacheChoice,
        _ session: Session
    ) async throws -> (clients: [StoredClient], cache: any TokenCache, hasRegistrations: Bool) {
        let cache: any TokenCache
        var hasRegistrations = true
        if let directory = choice.directory {
            cache = FileTokenCache(directory: directory)
        } else {
            let policy = LocationPolicy.standard.accepting(.file).acceptingAnyKeyFile()
            let stores = CacheChoice.desktop(policy, passPhrases: session.passPhrases, logger: session.logger)
            guard try await stores.rememberedStore(of: group) != nil else { return ([], stores, false) }
            hasRegistrations = try await stores.rememberedStore(of: ClientSoftware.identityctl.group) != nil
            cache = stores
        }
        let clients = try await cache.records(of: .account, in: group).values.map { record in
            let credentials = try AccountCredentials(
                decoding: record.bytes,
                rule: Authority.scopeRule(forPartition:)
            )
            return StoredClient(id: credentials.clientID, partition: credentials.partition)
        }
        return (Set(clients).sorted { ($0.id, $0.partition) < ($1.id, $1.partition) }, cache, hasRegistrations)
    }
}

/// A client with accounts in a store, as their records name it.
private struct StoredClient: Hashable {
    let id: String
    let partition: String

    /// Returns the configuration for signing its accounts out.
    func configuration(_ group: CacheGroup, _ cache: any TokenCache) throws -> ClientConfiguration {
        var configuration = ClientConfiguration(
            clientID: ClientID(rawValue: id),
            authority: try Authority(partition: partition),
            cache: cache
        )
        if Authority.isBound(partition: partition) { configuration.dpop = .whenOffered }
        if group != .application(configuration.clientID) { configuration.cacheGroup = group }
        return configuration
    }
}
