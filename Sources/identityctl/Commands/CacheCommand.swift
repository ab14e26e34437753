// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityKeyring
import OAuthWire
import SystemSupport

/// The commands for the store of the tokens.
struct CacheCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache",
        abstract: "Names the store of the tokens, moves them to another store, or makes a key for encrypted files.",
        subcommands: [CacheShowCommand.self, CacheMoveCommand.self, CacheCreateKeyCommand.self],
        defaultSubcommand: CacheShowCommand.self
    )
}

/// The command that shows the store of the tokens.
struct CacheShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the store of the tokens.",
        discussion: "Chooses nothing: 'none' means that the first sign-in decides."
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var output: OutputOptions

    var clientOptions: ProviderOptions? { provider }
    var isAboutSignIns: Bool { true }

    func run(in session: Session) async throws {
        let (cache, group) = try provider.desktopCache(session)
        let store = try await cache.rememberedStore(of: group)?.name
        if session.isJSON {
            let name = store.map { JSONValue.string($0) } ?? .null
            try session.result(JSONObject([("store", name), ("group", .string(group.name))]).line + "\n")
        } else {
            try session.result((store ?? "none") + "\n")
        }
    }
}

/// The command that moves the tokens to another store.
struct CacheMoveCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Moves the tokens to another store: copies, compares, and then removes the originals.",
        discussion: """
            The stores are encrypted-file (encrypted, with their key in the keyring), keyring (one item for each), file \
            (in clear text, which only you can read), and encrypted:key-file=PATH and encrypted:credential=NAME (encrypted, \
            with the key in a file or a credential of systemd). Programs of the same group follow. A move that was \
            interrupted is done again by repeating the command.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var output: OutputOptions

    @Option(
        help: ArgumentHelp(
            "encrypted-file, keyring, file, encrypted:key-file=PATH or encrypted:credential=NAME.",
            valueName: "store"
        ),
        completion: .list(["encrypted-file", "keyring", "file", "encrypted:key-file=", "encrypted:credential="])
    )
    var to: String

    var clientOptions: ProviderOptions? { provider }
    var isAboutSignIns: Bool { true }

    var sharedOptions: SharedOptions { provider.shared() }

    func run(in session: Session) async throws {
        let store = try destination(session.environment)
        let (cache, group) = try provider.desktopCache(session)
        let old = try await cache.rememberedStore(of: group)
        try await cache.move(to: store, in: group)
        try session.done(
            old == store
                ? "The tokens rest in '\(store)' already."
                : old.map { "Moved the tokens from '\($0)' to '\(store)'." } ?? "From now on tokens rest in '\(store)'."
        )
    }

    private func destination(_ environment: Variables) throws -> TokenLocation {
        if let store = [TokenLocation.encryptedFile, .keyring, .file].first(where: { $0.name == to }) { return store }
        if let key = try CacheChoice.keyFile(Given(text: to, origin: "--to"), home: environment["HOME"]) {
            return .encryptedFile(key: key)
        }
        throw UsageError(
            """
            --to: '\(to.printable)' is not a store. Possible are: encrypted-file, keyring, file, encrypted:key-file=PATH, \
            encrypted:credential=NAME.
            """
        )
    }
}

/// The command that makes a key file.
struct CacheCreateKeyCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-key",
        abstract: "Makes a file with a new random key, for encrypted files on a machine without a keyring.",
        discussion: """
            The file has 32 bytes, and only you can read it. Use it with --cache encrypted:key-file=PATH. Keep a copy in a \
            safe place: without the key nothing can read the tokens. A file that exists is never replaced.
            """
    )

    @Flag(help: "Ask at the terminal for a pass phrase that protects the key. Commands then ask for it each time.")
    var passPhrase = false

    @Argument(help: "The file to make. Missing directories are made, too.", completion: .file())
    var path: String

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let given = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        let key = try Given(text: given, origin: "PATH").checked { try KeyFile(path: given) }
        try await key.create(passPhrase: passPhrase ? try await newPassPhrase(session) : nil)
        try session.done("Made a key. To use it: identityctl login --cache \("encrypted:\(key)".shellWord)")
    }
}

extension CacheCreateKeyCommand {
    /// Asks twice, because a mistake would be noticed only when the key is needed.
    private func newPassPhrase(_ session: Session) async throws -> String {
        let passPhrase = try await session.passPhrases.ask("New pass phrase")
        guard try await session.passPhrases.ask("The same again") == passPhrase else {
            throw UsageError("The pass phrases differ. Nothing was made.")
        }
        return passPhrase
    }
}

extension ProviderOptions {
    /// Returns the user's stores, all accepted, and the group of the tokens.
    func desktopCache(_ session: Session) throws -> (DesktopTokenCache, CacheGroup) {
        let environment = session.environment
        if let given = try environment.given("cache", cache), try cacheChoice(environment).policy == nil {
            throw given.error("this command is about the stores auto, keyring, file and encrypted:….")
        }
        let policy = LocationPolicy.standard.accepting(.file).acceptingAnyKeyFile()
        guard let group = try group(environment) else {
            throw UsageError("Whose tokens? Give --client-id or --group.")
        }
        let cache = CacheChoice.desktop(policy, passPhrases: session.passPhrases, logger: session.logger)
        session.uses(cache, group)
        return (cache, group)
    }
}

extension ClientConfiguration {
    /// The group whose records the application uses.
    var group: CacheGroup { cacheGroup ?? .application(clientID) }
}
