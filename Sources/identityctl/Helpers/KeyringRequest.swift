// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A call of `keyring get`, as pip and uv make it.
///
/// - SeeAlso: [keyring](https://pypi.org/project/keyring/), "Command-line Utility"
struct KeyringRequest: Hashable, Sendable {
    private let service: String
    let username: String?
    private let wantsUsername: Bool
    private let isJSON: Bool

    /// - Returns: `nil` for another operation or option, which is for another `keyring`.
    init?(_ arguments: [String]) {
        var values: [String] = []
        var (mode, output) = ("password", "plain")
        var words = arguments[...]
        while let word = words.popFirst() {
            switch word {
            case "--mode": mode = words.popFirst() ?? ""
            case "--output": output = words.popFirst() ?? ""
            case "--mode=password", "--mode=creds": mode = String(word.dropFirst(7))
            case "--output=plain", "--output=json": output = String(word.dropFirst(9))
            default:
                guard word.utf8.first != UInt8(ascii: "-") else { return nil }
                values.append(word)
            }
        }
        guard ["password", "creds"].contains(mode), ["plain", "json"].contains(output), values.first == "get",
            values.count == 3 || (values.count == 2 && mode == "creds"),
            values.allSatisfy({ $0.utf8.count <= 4096 && !$0.utf8.hasControls })
        else { return nil }
        service = values[1]
        username = values.count == 3 ? values[2] : nil
        wantsUsername = mode == "creds"
        isJSON = output == "json"
    }

    /// The address that is asked for. First pip and uv give the address, and then its host and port alone, which say nothing
    /// of TLS: an index can lead pip to the same host without it. They are no address.
    var address: ServedAddress? { ServedAddress(asked: service) }

    /// Returns the answer in the wanted form.
    func answer(username: String, token: String) -> String {
        guard isJSON else { return (wantsUsername ? "\(username)\n" : "") + "\(token)\n" }
        let name: [(name: String, value: JSONValue)] = wantsUsername ? [("username", .string(username))] : []
        let answer = JSONObject(name + [("password", .string(token))])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }
}
