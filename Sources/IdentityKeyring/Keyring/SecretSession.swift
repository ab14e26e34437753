// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import CLibSecret
import GLibSupport
import IdentityClient
import SystemSupport

/// A session of libsecret, which negotiates the encryption of secrets with the keyring, and encrypts them.
final class SecretSession: Sendable {
    /// The keyring's name for the session.
    let path: String
    /// An open session never changes, so any thread may read it.
    private let session: GLibPointer
    private let thread: GLibThread

    private init(_ session: GLibPointer, on thread: GLibThread) {
        self.session = session
        self.thread = thread
        path = unsafe String(cString: clibsecret_path(session.pointer))
    }

    deinit {
        let session = session
        thread.perform { unsafe clibsecret_close(session.pointer) }
    }

    /// Loads libsecret on the GLib thread.
    /// - Returns: A promise that is kept when libsecret is loaded, or fails with a `LibraryProblem`.
    static func load(_ library: String, on thread: GLibThread) -> Promise<Void> {
        thread.begin { reply in
            var reason: UnsafePointer<CChar>?
            let readiness = unsafe clibsecret_load(library, &reason)
            let problem = unsafe LibraryProblem(readiness, library: library, reason: reason)
            reply.finish(problem.map { .failure($0) } ?? .success(()))
        }
    }

    /// Opens a session over our own connection, so that libsecret cannot end the program with the one that it shares.
    static func open(on bus: BusConnection, within timeout: Duration) async throws -> SecretSession {
        let (handle, thread) = (bus.handle, bus.thread)
        return try await answered(within: timeout) {
            try await thread.reply { reply in
                let (called, data) = unsafe completion(of: reply, else: .noSession) { session in
                    unsafe SecretSession(GLibPointer(session), on: thread)
                }
                unsafe clibsecret_open(handle.pointer, called, data)
            }
        }
    }

    /// Encrypts a secret for the keyring.
    func encrypted(_ secret: [UInt8]) throws -> Variant {
        let (handle, type) = (session, KeyringItem.contentType(of: secret))
        let value = unsafe secret.withUnsafeBufferPointer { bytes in
            unsafe clibsecret_encrypt(handle.pointer, bytes.baseAddress, bytes.count, type)
        }
        guard let value = unsafe value else { throw GLibFailure.notEncrypted }
        return unsafe Variant(owning: value)
    }

    /// Returns the content of a secret of the keyring; `nil` if it is not encrypted as agreed.
    func decrypted(_ secret: Variant) -> [UInt8]? {
        // libsecret may end the program for a value of another type.
        guard secret.has(type: "(oayays)") else { return nil }
        var bytes: [UInt8] = []
        let isRead = unsafe withUnsafeMutablePointer(to: &bytes) { bytes in
            unsafe clibsecret_decrypt(
                session.pointer,
                secret.pointer,
                { data, start, count in
                    let bytes = unsafe data?.assumingMemoryBound(to: [UInt8].self)
                    unsafe bytes?.pointee = Array(UnsafeBufferPointer(start: start, count: count))
                },
                bytes
            )
        }
        return isRead ? bytes : nil
    }
}

extension GLibFailure {
    fileprivate static let noSession = GLibFailure(
        domain: "identity-client",
        code: 1,
        name: nil,
        message: "libsecret opened no session."
    )
    fileprivate static let notEncrypted = GLibFailure(
        domain: "identity-client",
        code: 3,
        name: nil,
        message: "libsecret could not encrypt."
    )
}
