// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityKeyring
import IdentityMSALKeyring

extension MSALKeyringItem {
    /// The items of known programs.
    static let named: [String: MSALKeyringItem] = [
        "azure-identity-python": .azureIdentityPython, "azure-identity-dotnet": .azureIdentityDotNet,
        "azure-identity-js": .azureIdentityJavaScript, "git-credential-manager": .azureIdentityDotNet,
    ]

    /// Reads an item's name on a command line.
    ///
    /// That is a known program; or attributes, `xdg:schema=S,name=value`; or, for an item that is written too, a library, attributes and
    /// the file beside the item: `python:xdg:schema=S,name=value,file=PATH`.
    ///
    /// - Parameter home: The directory that replaces `~`.
    init(_ text: String, home: String?, _ given: Given?) throws {
        if let known = Self.named[text] {
            self = known
            return
        }
        let library = text.split(separator: ":", maxSplits: 1).first.map(String.init) ?? ""
        guard ["python", "dotnet", "node"].contains(library) else {
            self = .readOnly(schema: nil, attributes: try Self.attributes(text, given))
            return
        }
        // The file is last, because a path may contain commas.
        let rest = "," + text.dropFirst(library.utf8.count + 1)
        guard let (list, file) = Self.split(rest, at: ",file="), !file.isEmpty else {
            throw Self.wrong("\(library): needs the file beside the item, at the end: file=PATH", given)
        }
        let path = try CacheChoice.absolute(file, home: home, given)
        var attributes = list.isEmpty ? [:] : try Self.attributes(String(list.dropFirst()), given)
        switch library {
        case "python":
            let schema = attributes.removeValue(forKey: "xdg:schema")
            self = .python(file: path, schema: schema, attributes: attributes, label: "MSALCache")
        case "dotnet":
            guard let schema = attributes.removeValue(forKey: "xdg:schema") else {
                throw Self.wrong("dotnet: needs the item's schema: xdg:schema=NAME", given)
            }
            self = .dotNet(file: path, schema: schema, attributes: attributes, label: "MSALCache")
        default:
            guard attributes.count == 2, let service = attributes["service"], let account = attributes["account"] else {
                throw Self.wrong("node: needs service=NAME and account=NAME, and nothing else before the file", given)
            }
            self = .node(file: path, service: service, account: account)
        }
    }

    private static func attributes(_ text: String, _ given: Given?) throws -> [String: String] {
        var attributes: [String: String] = [:]
        for pair in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw wrong(
                    "'\(text.printable)' is no item. Possible are \(named.keys.sorted().joined(separator: ", ")); NAME=VALUE,… with the "
                        + "attributes of an item that is only read; or python:, dotnet: or node: with NAME=VALUE,…,file=PATH",
                    given
                )
            }
            guard attributes.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw wrong("the attribute '\(parts[0].printable)' is there twice", given)
            }
        }
        return attributes
    }

    /// Splits at the first `mark`.
    private static func split(_ text: String, at mark: String) -> (String, String)? {
        guard let range = text.firstRange(of: mark) else { return nil }
        return (String(text[..<range.lowerBound]), String(text[range.upperBound...]))
    }

    private static func wrong(_ message: String, _ given: Given?) -> UsageError {
        UsageError("\(given?.origin ?? "--cache"): \(message).")
    }
}
