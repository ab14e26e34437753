// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import SystemSupport

/// One prompt of the keyring, from its opening to its end.
///
/// The prompt is never dismissed, because gnome-keyring would end with its dialog. A caller that stops waiting
/// leaves the prompt open.
struct PromptRun {
    private let bus: BusConnection
    private let path: String
    private let parentWindow: String

    /// - Parameter parentWindow: As in ``KeyringPrompting/parentWindow``.
    init(_ bus: BusConnection, _ path: String, parentWindow: String? = nil) {
        self.bus = bus
        self.path = path
        self.parentWindow = parentWindow ?? ""
    }

    /// Opens the prompt and waits for its end.
    /// - Returns: The result of the prompt, or `nil` if the person closed it.
    /// - Throws: `DeadlineExceeded`, `GLibFailure`, `CancellationError`; the prompt stays open.
    func outcome(within timeout: Duration) async throws -> Variant? {
        guard BusConnection.isPath(path) else { throw AuthenticationError.keyring(.cache) }
        let reply = Promise<Variant?>()
        let subscription = bus.subscribe(
            to: KeyringLink.service,
            interface: "org.freedesktop.Secret.Prompt",
            member: "Completed",
            path: path
        ) { signal in
            guard signal.parameters.has(type: "(bv)"), let isDismissed = signal.parameters[0]?.bool else { return }
            reply.finish(.success(isDismissed ? nil : signal.parameters[1]?.content))
        }
        let closing = bus.whenClosed { reply.finish(.failure(GLibFailure.dialogEnded)) }
        let leaving = bus.whenOwnerLeaves(KeyringLink.service) { reply.finish(.failure(GLibFailure.dialogEnded)) }
        defer { [subscription, closing, leaving].forEach(bus.unsubscribe) }
        let (bus, path, window) = (bus, path, BusConnection.quoted(parentWindow))
        return try await withDeadline(timeout) {
            _ = try await bus.call(
                "Prompt",
                of: "org.freedesktop.Secret.Prompt",
                at: path,
                in: KeyringLink.service,
                "(\(window),)",
                returning: "()",
                timeout: timeout
            )
            return try await reply.value()
        }
    }
}

extension GLibFailure {
    /// The bus's error for a call whose answer can no longer come.
    fileprivate static let dialogEnded = GLibFailure(
        domain: "identity-client",
        code: 2,
        name: "org.freedesktop.DBus.Error.NoReply",
        message: "The keyring ended while its dialog was open."
    )
}
