// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The library's name and version.
package enum LibraryVersion {
    /// The version: the first one in `CHANGELOG.md`.
    package static let current = "0.1.0"
}

extension HTTPRequest {
    /// The request with the library's name and version in `User-Agent`, unless the program set its own.
    ///
    /// Firewalls in front of providers and APIs refuse requests without one, and so does GitHub's API.
    /// - SeeAlso: [RFC 9110 §10.1.5](https://www.rfc-editor.org/rfc/rfc9110#section-10.1.5)
    package var withUserAgent: HTTPRequest {
        guard headerFields[.userAgent] == nil else { return self }
        var request = self
        request.headerFields[.userAgent] = "swift-identity-client/\(LibraryVersion.current)"
        return request
    }
}
