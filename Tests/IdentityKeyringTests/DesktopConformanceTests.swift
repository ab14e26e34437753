// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityKeyring

/// The rules of every cache, for each store of a `DesktopTokenCache`.
@Suite struct DesktopConformanceTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/identity-stores-\(UUID().uuidString)"

    /// A directory of files is the keyring.
    @Test(.timeLimit(.minutes(3)), arguments: [TokenLocation.encryptedFile, .memory])
    func keepsWhatEveryCachePromises(_ store: TokenLocation) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let directory = directory
        try await TokenCacheConformance(isShared: store != .memory, costRecords: nil) {
            let keyring = FileTokenCache(directory: directory + "/keyring")
            return DesktopTokenCache(policy: .require(store), directory: directory + "/state", keyring: keyring) {}
        }.run()
    }

    @Test(
        .enabled(if: keyringSupport != nil, "run Scripts/test-keyring"),
        .timeLimit(.minutes(5)),
        arguments: [TokenLocation.keyring, .encryptedFile]
    )
    func keepsItWithGNOMEKeyring(_ store: TokenLocation) async throws {
        let session = try KeyringSession(.unlocked)
        try await TokenCacheConformance(costRecords: nil) {
            let keyring = try session.cache()
            return DesktopTokenCache(policy: .require(store), directory: session.directory + "/state", keyring: keyring)
            {
                _ = try await keyring.openCollection()
            }
        }.run()
    }
}
