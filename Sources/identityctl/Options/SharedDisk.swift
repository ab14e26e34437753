// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring

/// A disk whose locks other computers, or other mounts, may not see.
enum SharedDisk {
    /// The end of the promises for sign-ins there, without a capital and an end.
    static let note = """
        other computers or mounts may not see the locks of this file system: use the sign-ins there from one computer and one mount \
        only, or refresh tokens can be spent twice
        """
}

extension ClientConfiguration {
    /// The directory of the tokens, if its locks may not be seen by all programs that use it; `nil` for another, and for a store
    /// without one.
    var directoryOfAnotherKernel: String? {
        get async {
            var files = cache as? FileTokenCache
            if let desktop = cache as? DesktopTokenCache {
                let store = try? await desktop.rememberedStore(of: group)  // one that cannot be read has failed before
                if let store, ![.keyring, .memory].contains(store) { files = FileTokenCache() }
            }
            guard let found = try? files?.inspect(), !found.hasLocksOfThisKernel else { return nil }
            return found.path
        }
    }
}
