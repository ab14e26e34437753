// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Microsoft's name of the account: the person in the home tenant.
package struct ClientInfo: Hashable, Sendable {
    /// The person in the home tenant.
    package var uid: String
    /// The home tenant.
    package var utid: String

    /// Creates the name of a person and the home tenant.
    package init(uid: String, utid: String) {
        self.uid = uid
        self.utid = utid
    }

    /// Reads the base64 JSON of `client_info`; `nil`, which counts as absent, unless it has two visible texts.
    package static func parse(_ raw: String) -> ClientInfo? {
        guard
            raw.utf8.count <= 4_096,
            let bytes = Base64URL.decodeLenient(raw),
            let json = try? JSONObject(parsing: bytes),  // not JSON counts as absent too
            let uid = json.string("uid"), !uid.isEmpty, uid.utf8.areVisible,
            let utid = json.string("utid"), !utid.isEmpty, utid.utf8.areVisible
        else { return nil }
        return ClientInfo(uid: uid, utid: utid)
    }
}
