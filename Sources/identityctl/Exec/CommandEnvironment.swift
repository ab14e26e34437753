// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import SystemSupport

/// The variables of a command.
enum CommandEnvironment {
    /// Returns `variables` without the `withheld`, and with `names` set to `value`.
    static func variables(
        _ variables: [CText],
        withholding withheld: Set<String>,
        setting names: [String],
        to value: String
    ) -> [CText] {
        let removed = withheld.union(names).map { CText("\($0)=").dropLast() }
        return variables.filter { variable in !removed.contains { variable.starts(with: $0) } }
            + Set(names).map { CText("\($0)=\(value)") }
    }
}
