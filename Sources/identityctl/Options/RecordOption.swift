// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The option for a capture of the exchange with the provider.
struct RecordOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the requests and answers into a file for a support case, with secrets and personal data replaced.",
            discussion: "Mode 0600; an older file is replaced. It is written if the sign-in fails, too. Not with "
                + "IDENTITYCTL_AGENT.",
            valueName: "file"
        ),
        completion: .file()
    )
    var record: String?

    /// - Throws: `UsageError` for a name that is none of a file.
    func recording(of command: String) throws -> Recording? {
        guard let record else { return nil }
        guard !record.isEmpty, record != "-" else { throw UsageError("--record: name a file.") }
        return Recording(path: record, command: command)
    }
}
