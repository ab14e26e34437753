// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The means of writing the answer to one refresh, kept ready from before its request.
final class RefreshReservation: Sendable {
    /// The bytes by which a record may become longer: another access token and ID token of the largest usual size.
    private static let growth = 16 << 10

    private let cache: (any TokenCacheReservation)?
    private let spares: Mutex<SpareDescriptors?>

    /// Reserves the write of the record that `snapshot` is of.
    ///
    /// - Throws: `.cache` and its second levels; `CancellationError`.
    init(for snapshot: CredentialSnapshot, in store: CredentialStore) async throws {
        let size = snapshot.record?.bytes.count ?? snapshot.credentials.encoded().count
        cache = try await store.wrapping { try await store.cache.reserve(size + Self.growth, for: snapshot.key) }
        do {
            spares = Mutex(try SpareDescriptors())
        } catch {
            await cache?.release()
            throw AuthenticationError(error)
        }
    }

    /// Closes the descriptors that were kept for the write.
    func freeDescriptors() {
        spares.withLock { $0 = nil }
    }

    /// Gives everything back that no write has used.
    func release() async {
        freeDescriptors()
        await cache?.release()
    }
}

extension AuthenticationError {
    /// The same failure of a cache, found before a refresh token was sent.
    func beforeARefresh(_ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            code,
            "No new token was requested, because it could not be stored. \(message)",
            correlationID: context.correlationID,
            underlyingError: self,
            timestamp: timestamp
        )
    }
}
