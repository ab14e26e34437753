// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The messages of the credential helpers that Bazel and other build programs call.
///
/// - SeeAlso: [Credential helpers](https://github.com/EngFlow/credential-helper-spec/blob/main/spec.md)
enum BazelCredential {
    /// Returns the address of the request.
    ///
    /// - Throws: `UsageError` for another message. Members that this program does not know are passed over.
    static func address(parsing bytes: [UInt8]) throws -> ServedAddress? {
        guard let uri = (try? JSONObject(parsing: bytes))?.string("uri") else {
            throw UsageError("The request is no JSON object with \"uri\".")
        }
        // Remote execution names its servers so. The connection is the same.
        return ServedAddress(asked: uri.hasPrefix("grpcs://") ? "https" + uri.dropFirst(5) : uri)
    }

    static func answer(token: String, expiresOn: Date) -> String {
        let headers = JSONObject([("Authorization", .array([.string("Bearer \(token)")]))])
        let answer = JSONObject([("headers", .object(headers)), ("expires", .string(expiresOn.utcText))])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }
}
