// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import GLibSupport
public import IdentityClient
import SystemSupport

/// The key of encrypted files in a sandbox, derived from the secret that the desktop's portal keeps for this program alone.
///
/// With it, a Flatpak needs no access to the whole keyring. The portal (`org.freedesktop.portal.Secret`) keeps the secret in the
/// person's keyring, and may ask the person to unlock it. Outside a sandbox use ``DesktopTokenCache``.
///
/// ```swift
/// configuration.cache = EncryptedTokenCache(FileTokenCache(), keyFrom: PortalEncryptionKey())
/// ```
/// - SeeAlso: [Secret portal](https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Secret.html)
public struct PortalEncryptionKey: EncryptionKeyProvider {
    private static let portal = "org.freedesktop.portal.Desktop"
    private let deadline: Duration
    private let settings: KeyringSettings

    /// Creates a provider. Asks nothing before the key is needed.
    ///
    /// - Parameter deadline: The longest wait, including a dialog. The default is two minutes.
    public init(deadline: Duration = .seconds(120)) {
        self.init(deadline: deadline, settings: KeyringSettings())
    }

    /// Creates a provider with settings, for tests.
    package init(deadline: Duration, settings: KeyringSettings) {
        self.deadline = deadline
        self.settings = settings
    }

    /// Returns the key. It is the same key as long as the portal keeps the program's secret.
    ///
    /// - Throws: `.keyringNoService` if there is no portal or it has no secret, `.keyringPromptDismissed` if the person closed
    ///   its dialog, `.keyringTimedOut` after the deadline, `.keyringLibraryMissing`, `.keyringNoSessionBus`;
    ///   `CancellationError`.
    public func encryptionKey() async throws -> EncryptionKey {
        do {
            return try await withDeadline(deadline) { try await self.retrieve() }
        } catch is DeadlineExceeded {
            throw AuthenticationError.keyringDialogUnanswered
        } catch let failure as GLibFailure where KeyringProblem(failure) == .noService {
            throw Self.noSecret(failure)
        } catch {
            throw AuthenticationError.fromKeyring(error)
        }
    }

    private func retrieve() async throws -> EncryptionKey {
        let bus = try await settings.connect()
        guard let file = MemoryFile() else { throw LibraryProblem.exhausted }
        let response = Promise<UInt32>()
        // The connection has only one request, so that each response belongs to it.
        bus.subscribe(to: Self.portal, interface: "org.freedesktop.portal.Request", member: "Response") { signal in
            if let code = signal.parameters[0]?.uint32 { response.finish(.success(code)) }
        }
        let end: @Sendable () -> Void = { response.finish(.failure(Self.noSecret(nil))) }
        bus.whenClosed(end)
        bus.whenOwnerLeaves(Self.portal, end)
        _ = try await bus.call(
            "RetrieveSecret",
            of: "org.freedesktop.portal.Secret",
            at: "/org/freedesktop/portal/desktop",
            in: Self.portal,
            "(handle 0, @a{sv} {})",
            descriptor: file.number,
            returning: "(o)",
            startsService: true,
            timeout: deadline
        )
        let code = try await response.value()
        let secret = file.bytes
        withExtendedLifetime(bus) {}
        if code == 1 { throw AuthenticationError.keyring(.keyringPromptDismissed) }
        // Portals return 64 bytes. A secret must have at least the length of a key.
        guard code == 0, secret.count >= 32 else { throw Self.noSecret(nil) }
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret),
            info: Data("swift-identity-client encryption key 1".utf8),
            outputByteCount: 32
        )
        return try EncryptionKey(unsafe key.withUnsafeBytes { unsafe Array($0) })
    }

    private static func noSecret(_ cause: (any Error)?) -> AuthenticationError {
        AuthenticationError(
            .keyringNoService,
            "The desktop's portal has no secret for this program. Install xdg-desktop-portal with a keyring that serves it "
                + "(gnome-keyring or KWallet), unlock the keyring, and try again.",
            underlyingError: cause
        )
    }
}
