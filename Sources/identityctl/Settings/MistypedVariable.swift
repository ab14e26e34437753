// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import SystemSupport

/// A variable that begins as this tool's do, is none of them, and is nearly one that is not set.
struct MistypedVariable: Hashable {
    let name: String
    /// The variable that was probably meant.
    let meant: String

    /// Goes through all variables of the process: for `doctor`, and for a command that failed.
    ///
    /// - Parameters:
    ///   - variables: Those that count.
    ///   - names: The names to look at; `nil` for those of the process.
    static func all(in variables: Variables, among names: [String]? = nil) -> [MistypedVariable] {
        let others = ["agent", "ignore-screen", "keyring-passed-on", "forward-url", "forward-phantom"]
        let known = Setting.all.map(\.name) + others
        let (beginning, own) = (Variables.variable(for: ""), Set(known.map(Variables.variable)))
        return (names ?? namesOfProcess).compactMap { name in
            guard name.hasPrefix(beginning), !own.contains(name), variables[name] != nil else { return nil }
            let word = String(name.dropFirst(beginning.count).map { $0 == "_" ? "-" : $0 })
            guard let near = Suggestion.nearest(to: word, among: known) else { return nil }
            // A beginning alone, as IDENTITYCTL_TOKEN, may be a variable of the person's own.
            guard near.utf8.count < word.utf8.count + 3 else { return nil }
            let meant = Variables.variable(for: near)
            return variables[meant] == nil ? MistypedVariable(name: name, meant: meant) : nil
        }
    }

    private static var namesOfProcess: [String] {
        CText.environment.map { text in
            let name = text.prefix { $0 != CChar(bitPattern: UInt8(ascii: "=")) && $0 != 0 }
            return String(decoding: name.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
