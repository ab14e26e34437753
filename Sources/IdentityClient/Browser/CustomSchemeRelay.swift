// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire

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
        guard address.utf8.count <= Self.maximumAddressBytes, address.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
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
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []  // gone meanwhile: nobody
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
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URL(string: text),
            url.absoluteString == text, url.fragment == nil,
            RedirectAddress(text).matches(redirectURI.absoluteString), question.isAnswered(by: text)
        else {
            self = .refused(status: 400)
            return
        }
        self = .redirect(url, .formPost)
    }
}
