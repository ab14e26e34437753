// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import HTTPTypes
import IdentityClient
import IdentityResources
import SystemSupport

/// The command that an AI program starts to speak with a server that needs a sign-in.
struct MCPCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "mcp",
        abstract: "Gives an AI program an MCP server that needs a sign-in: a bridge between stdio and HTTP.",
        discussion: """
            An AI program starts this command, and writes JSON-RPC messages to its standard input, one on a line; the server's \
            messages come out in the same way. The token is acquired without a question. If a person has to sign in, the \
            browser opens, once for all bridges, and asks first for a server that was never signed in to; the sign-in goes on \
            if the bridge is ended. Without a desktop the message's answer says what to run. IDENTITYCTL_SIGN_IN=never opens no \
            browser.

            The token is that of the sign-in for the address, or of a profile that serves it ('serves = ADDRESS'), and goes to \
            no other address.
            """
    )

    @Argument(help: ArgumentHelp("The server's address: https, or http on this computer.", valueName: "url"))
    var url: String

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var output: OutputOptions

    /// Signs in, in a process of its own that a bridge starts.
    @Flag(name: .customLong("sign-in"), help: .hidden)
    var signsIn = false

    /// With ``signsIn``: the digest of the token that the server refused.
    @Option(help: .hidden)
    var refused: String?

    /// With ``signsIn``: whether the token lacks the scopes.
    @Flag(name: .customLong("more"), help: .hidden)
    var demandsMore = false

    /// Renews the token, in a process of its own that a bridge starts: the one with this digest, or one that has expired.
    @Option(name: .customLong("renew"), help: .hidden)
    var renewed: String?

    /// Leaves the address in place of `url` for bridges to offer: as the browser of a sign-in, in the directory of this name.
    @Option(help: .hidden)
    var page: String?

    var clientOptions: ProviderOptions? { provider }
    var asksAgent: Bool { true }
    var sharedOptions: SharedOptions { provider.shared(token, account) }

    func run(in session: Session) async throws {
        if let page { return try MCPOffer.Page.leave(url, in: try signInDirectory(page, session.environment)) }
        guard !signsIn else { return try await signIn(session) }
        if let renewed { return try await renew(renewed, session) }
        let address = try URL(called: url)
        let access = try MCPAccess(self, session)
        access.prepare()
        // Without a directory, nothing is remembered.
        let directory = try? ProfileDirectory(session.environment).answerDirectory
        let memory = MCPMemory(directory: directory, server: url) { try await access.account }
        let tool = MCPSignInTool(server: url, command: login(demanding: [], session.environment))
        let request = HTTPRequest(.post, to: address)
        let bridge = MCPBridge(access, at: request, memory, tool, session.console) { error in
            // What the server said about the token comes last.
            let said = (error as? AuthenticationError)?.serverError.map { " \(PlainReport.words($0))" }
            return self.sentence(on: error, in: session) + (said ?? "")
        }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await Self.read(into: bridge) }
                group.addTask { try await bridge.failure() }
                try await group.next()
            }
        } catch {
            await bridge.end()
            throw error
        }
        await bridge.end()
    }

    /// Reads messages until the input ends.
    private static func read(into bridge: MCPBridge) async throws {
        let queue = QueueExecutor("identityctl.mcp-input")
        var lines = MCPLines()
        while true {
            let piece = try await queue.runUnlessCancelled { try readPiece() }
            for line in lines.add(piece) { await bridge.receive(line) }
            if piece.isEmpty { return }
        }
    }

    /// - Returns: Nothing at the end of the input.
    private static func readPiece() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(0, $0.baseAddress, $0.count) }
            if count >= 0 { return Array(buffer[..<count]) }
            if errno == EAGAIN {
                _ = Poll.isReady(0, before: .now + .seconds(1))
            } else if errno != EINTR {
                throw SystemFailure("Standard input could not be read", number: errno)
            }
        }
    }

    func advice(on error: any Error, in session: Session) -> String? {
        guard case AuthenticationError.Code.interactionRequired = error else { return AgentAdvice.text(of: error) }
        guard session.route.agent != nil else {
            let known = error as? AuthenticationError
            if let advice = known?.underlyingError as? SignInCourse.Advice { return advice.text }
            var login = loginOptions(demanding: known?.challenge?.scopes ?? [], session.environment)
            if let challenge = known?.challenge, challenge.scopes.isEmpty { login = login.meeting(challenge) }
            if let claims = known?.claims { login = login.replacing("--claims", with: claims) }
            return "To sign in, run: \(login.command("login"))"
        }
        return AgentAdvice.text(of: error) ?? PlainReport.advice(error, sharedOptions, at: " where the agent runs")
    }
}

extension MCPCommand {
    /// The options with all scopes that are wanted.
    func options(demanding scopes: Set<Scope>) -> SharedOptions {
        guard !scopes.isEmpty else { return sharedOptions }
        let all = scopes.map(\.rawValue).sorted() + token.scopes.filter { !scopes.contains(Scope(rawValue: $0)) }
        return sharedOptions.replacing("--scope", with: all.joined(separator: " "))
    }

    /// The command with which a person signs in.
    func login(demanding scopes: Set<Scope>, _ environment: Variables) -> String {
        loginOptions(demanding: scopes, environment).command("login")
    }

    private func loginOptions(demanding scopes: Set<Scope>, _ environment: Variables) -> SharedOptions {
        let options = options(demanding: scopes)
        if let profile = environment.profile, profile.isNamed {
            return options.replacing("--profile", with: profile.name.text)
        }
        let isKnown = environment.profile != nil
        return isKnown
            ? options.replacing("--resource", with: url)
            : options.replacing("--resource", with: url).adding(flag: "--mcp")
    }
}

/// The lines of the host's messages, which arrive piece by piece.
struct MCPLines {
    enum Line: Hashable {
        case whole([UInt8])
        /// A line that is longer than a message may be, of which this is the beginning.
        case tooLong([UInt8])
    }

    private var rest: [UInt8] = []
    private var isTooLong = false

    /// Returns the lines that a piece completes. An empty piece is the end.
    mutating func add(_ piece: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var start = piece.startIndex
        while let end = piece[start...].firstIndex(of: 0x0A) {
            append(piece[start..<end])
            if let line = take() { lines.append(line) }
            start = end + 1
        }
        append(piece[start...])
        if piece.isEmpty, let line = take() { lines.append(line) }
        return lines
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        guard !isTooLong else { return }
        rest += bytes
        guard rest.count > MCPMessage.maximumBytes else { return }
        isTooLong = true
        rest = Array(rest.prefix(4096))
    }

    private mutating func take() -> Line? {
        defer { (rest, isTooLong) = ([], false) }
        if isTooLong { return .tooLong(rest) }
        return rest.allSatisfy { $0 == 0x20 || $0 == 0x0D || $0 == 0x09 } ? nil : .whole(rest)
    }
}
