// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl

extension CurlTransport {
    /// Loads libcurl, and returns its version.
    ///
    /// - Throws: `.transportUnavailable` if there is no usable libcurl.
    package static func libraryVersion() async throws -> String {
        try await QueueExecutor("identity-client.curl-inspection").run {
            let settings = CurlSettings(
                timeoutMilliseconds: 1000,
                connectTimeoutMilliseconds: 1000,
                maximumResponseBytes: 0
            )
            let driver = try CurlDriver(settings)
            let pointer = unsafe driver.handle.pointer
            let names = settings.libraryNames
            let readiness = unsafe ccurl_driver_open(pointer, names.0, names.1, settings.newestLibraryVersion)
            guard readiness == CCURL_READY else {
                throw unsafe CurlFailure.unavailable(readiness, reason: String(cString: ccurl_driver_reason(pointer)))
            }
            defer { unsafe ccurl_driver_close(pointer) }
            let version = unsafe ccurl_driver_version(pointer)
            return "\(version >> 16 & 0xFF).\(version >> 8 & 0xFF).\(version & 0xFF)"
        }
    }
}
