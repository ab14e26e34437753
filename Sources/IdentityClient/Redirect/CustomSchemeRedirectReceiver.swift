// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import LoopbackHTTP
import OAuthWire
import SystemSupport

/// Receives redirects to the program's own scheme, `msauth.com.example.app://auth` for example.
///
/// For such an address the desktop starts a program, which passes the address to the waiting program over a socket in
/// the user's runtime directory, to which no other user can connect. `identityctl register-scheme` installs such a
/// program; a program that is registered itself calls
/// ``deliver(_:)``. A delivered address ends only the wait with the same address and `state`.
///
/// Prefer the loopback interface if the provider allows it: another program of the user can take a scheme over.
///
/// ```swift
/// configuration.redirectURI = try .custom(redirectURL)  // com.example.app:/signed-in
/// configuration.redirectReceiver = CustomSchemeRedirectReceiver()
/// ```
/// - SeeAlso: [RFC 8252 §7.1](https://www.rfc-editor.org/rfc/rfc8252#section-7.1)
public struct CustomSchemeRedirectReceiver: RedirectReceiver {
    private let mailbox: CustomSchemeRelay

    /// Creates a receiver.
    public init() {
        mailbox = CustomSchemeRelay(directory: nil)
    }

    init(directory: String) {
        mailbox = CustomSchemeRelay(directory: directory)
    }

    /// Starts to listen.
    ///
    /// - Throws: `AuthenticationError(.redirectUnavailable, …)` if the address has no custom scheme, or no socket can
    ///   be created; `AuthenticationError(.invalidArgument, …)` for a form post, which such an address cannot receive;
    ///   `CancellationError`.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        guard responseMode == .query else {
            throw AuthenticationError(
                .invalidArgument,
                "A redirect address with a custom scheme gets its answer in the query: set the response mode to query."
            )
        }
        return try await listener(for: redirectURI, answers: .signIn)
    }

    /// Starts to listen for the return from a sign-out page.
    ///
    /// - Throws: As ``start(for:responseMode:)``.
    public func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await listener(for: redirectURI, answers: .signOut)
    }

    /// Passes an address that this process was opened with to this user's waiting program.
    ///
    /// Pass only an address from the desktop or the toolkit. The call lasts until the waiting program has finished the
    /// sign-in, 60 s at most.
    ///
    /// - Returns: Whether a program accepted the address; `false` if none waits for it.
    /// - Throws: `AuthenticationError` of the family `.configuration` if the address has no custom scheme, or is longer than 16 KiB;
    ///   `.cache` if the runtime directory is not safe; `CancellationError`.
    public static func deliver(_ url: URL) async throws -> Bool {
        try await CustomSchemeRelay(directory: nil).deliver(url)
    }

    func deliver(_ url: URL) async throws -> Bool {
        try await mailbox.deliver(url)
    }

    private func listener(
        for redirectURI: RedirectURI,
        answers question: RedirectRequest.Question
    ) async throws -> any RedirectListener {
        guard case .custom(let url) = redirectURI.kind, let scheme = redirectURI.customScheme else {
            throw AuthenticationError(
                .redirectUnavailable,
                "The redirect address has no scheme of the program's own, such as com.example.app, so it cannot be received."
            )
        }
        // The delivering program reads only the answer's status, so there is no page to write.
        let queue = RedirectQueue(responseMode: .query, path: "", template: RedirectPageTemplate()) {
            request,
            url,
            _ in
            RedirectRequest(delivery: request, redirectURI: url, answers: question)
        }
        let path = try await mailbox.newPath(for: scheme)
        var limits = LoopbackServer.Limits()
        limits.maximumBodyLength = CustomSchemeRelay.maximumAddressBytes
        let server: LoopbackServer
        do {
            server = try LoopbackServer.start(unixSocket: path, limits: limits) { await queue.respond(to: $0) }
        } catch {
            throw AuthenticationError(
                .redirectUnavailable,
                "No socket can be made to receive the redirect: \(error).",
                underlyingError: error
            )
        }
        queue.open(at: url, port: 0)
        return CustomSchemeRedirectListener(redirectURI: url, path: path, server: server, queue: queue)
    }
}

/// A socket and its received redirects. Releasing the listener closes and removes the socket.
final class CustomSchemeRedirectListener: RedirectListener {
    let redirectURI: URL
    private let path: String
    private let server: LoopbackServer
    private let queue: RedirectQueue

    init(redirectURI: URL, path: String, server: LoopbackServer, queue: RedirectQueue) {
        self.redirectURI = redirectURI
        self.path = path
        self.server = server
        self.queue = queue
    }

    deinit {
        queue.close()
        CustomSchemeRelay.remove(path)
    }

    func receive() async throws -> ReceivedRedirect {
        try await queue.next()
    }

    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        queue.answer(redirect, with: page)
    }

    func close() async {
        CustomSchemeRelay.remove(path)
        queue.close()
        await queue.delivered(within: .seconds(1))
        server.close()
    }
}

/// A program's own URI scheme, as in `msauth.com.example.app://auth`.
///
/// - SeeAlso: [RFC 8252 §7.1](https://www.rfc-editor.org/rfc/rfc8252#section-7.1)
package struct CustomScheme: Hashable, Sendable, CustomStringConvertible {
    /// In lower case.
    package let name: String

    /// Checks a scheme.
    ///
    /// - Throws: `.invalidArgument` if it is invalid, or if other programs may handle it, because without a period it
    ///   contains no domain name.
    /// - SeeAlso: [RFC 3986 §3.1](https://www.rfc-editor.org/rfc/rfc3986#section-3.1),
    ///   [RFC 8252 §8.4](https://www.rfc-editor.org/rfc/rfc8252#section-8.4)
    package init(_ text: String) throws {
        let name = text.lowercased()
        let isScheme =
            (2...64).contains(name.utf8.count)
            && name.utf8.first.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) } == true
            && name.utf8.areAlphanumeric(or: "+-.")
        guard isScheme else {
            throw AuthenticationError(
                .invalidArgument,
                "A scheme has 2 to 64 of the characters a-z, 0-9, '+', '-' and '.', and begins with a letter."
            )
        }
        guard name.utf8.contains(UInt8(ascii: ".")) || Self.namesClient(name) else {
            throw AuthenticationError(
                .invalidArgument,
                "The scheme '\(name)' has no period, so another program may use it too. Choose a scheme that begins with a "
                    + "domain name of yours in reverse, like com.example.app."
            )
        }
        self.name = name
    }

    package var description: String { name }

    /// Deviation: Entra ID registers `msal` followed by the client identifier, which is unique.
    private static func namesClient(_ name: String) -> Bool {
        name.hasPrefix("msal") && UUID(uuidString: String(name.dropFirst(4))) != nil
    }
}

extension RedirectURI {
    /// The scheme, if it is the program's own.
    package var customScheme: CustomScheme? {
        guard case .custom(let url) = kind else { return nil }
        return try? CustomScheme(url.scheme ?? "")  // no program owns any other
    }
}

/// The directory with the sockets on which a user's programs listen for redirects to their own schemes.
///
/// A socket's name begins with a fingerprint of the scheme, so that an address reaches only programs with this scheme.
struct CustomSchemeRelay: Sendable {
    /// The maximum length of an address in bytes.
    static let maximumAddressBytes = 16 * 1024
    private static let group = CacheGroup(unchecked: "redirects")
    private static let queue = QueueExecutor("identity.redirects", width: 4)

    /// `nil` means the user's runtime directory.
    private let directory: String?

    init(directory: String?) {
        self.directory = directory
    }

    /// The path of a new socket. The directory is created only for the user, and checked.
    func newPath(for scheme: CustomScheme) async throws -> String {
        let place = try place()
        return try await Self.queue.run {
            do {
                try SecureDirectory.create(place, Self.group.name)
                guard try SecureDirectory.open(place, Self.group.name) != nil else {
                    throw AuthenticationError(.redirectUnavailable, "\(place) was removed meanwhile. Try again.")
                }
            } catch let error as SystemCallError {
                throw AuthenticationError(
                    .redirectUnavailable,
                    "\(error.path), needed to receive the redirect, cannot be used: \(error.reason)."
                )
            }
            let name = "\(Self.prefix(scheme))\(SecureRandom.token(bytes: 9))"
            return "\(place)/\(Self.group.name)/\(name)"
        }
    }

    /// Offers the address to all programs that wait for its scheme.
    func deliver(_ url: URL) async throws -> Bool {
        let address = url.absoluteString
        let scheme = try CustomScheme(url.scheme ?? "")
        guard address.utf8.count <= Self.maximumAddressBytes, address.utf8.areVisible
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The address is too long, or has other than visible characters."
            )
        }
        let place = try place()
        let paths = try await Self.queue.run { try Self.sockets(in: place, for: scheme) }
        // A program that does not answer delays no other.
        let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
        var open = 0
        for path in paths.prefix(32) {
            open += 1
            // The queue itself throws nothing.
            Task { answer.yield((try? await Self.queue.run { Self.offer(address, at: path) }) ?? false) }
        }
        guard open > 0 else { return false }
        for await isTaken in answers {
            if isTaken { return true }
            open -= 1
            if open == 0 { return false }
        }
        throw CancellationError()
    }

    /// Whether the program that listens at `path` accepts the address.
    private static func offer(_ address: String, at path: String) -> Bool {
        switch UnixSocket.post(Array(address.utf8), toServerAt: path, timeoutSeconds: 60) {
        case .status(200): return true
        case .gone:
            remove(path)
            return false
        case .status, .none: return false
        }
    }

    /// Removes a socket without a listener.
    static func remove(_ path: String) {
        // A socket that is already gone, or stays behind, does no harm.
        try? FileManager.default.removeItem(atPath: path)
    }

    private func place() throws -> String {
        try directory ?? RuntimeDirectory.path()
    }

    private static func sockets(in place: String, for scheme: CustomScheme) throws -> [String] {
        let directory = "\(place)/\(group.name)"
        do {
            guard try SecureDirectory.open(place, group.name) != nil else { return [] }
        } catch let error as SystemCallError {
            throw AuthenticationError(.cache, "\(error.path) cannot be used: \(error.reason).")
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []  // gone meanwhile
        return names.filter { $0.hasPrefix(prefix(scheme)) }.sorted().map { "\(directory)/\($0)" }
    }

    private static func prefix(_ scheme: CustomScheme) -> String {
        Digest.hexadecimal(of: ["redirect", scheme.name]).prefix(12) + "-"
    }
}

extension RedirectRequest {
    /// A delivery: a POST with the whole address as its body.
    init(delivery request: LoopbackRequest, redirectURI: URL, answers question: Question) {
        guard request.method == "POST", request.path == "/redirect" else {
            self = .refused(status: 404)
            return
        }
        guard let text = String(validating: request.body, as: UTF8.self),
            text.utf8.areVisible, let url = URL(string: text),
            url.absoluteString == text, url.fragment == nil,
            RedirectAddress(text).matches(redirectURI.absoluteString), question.hasAnswer(in: text)
        else {
            self = .refused(status: 400)
            return
        }
        self = .redirect(url, .formPost)
    }
}
