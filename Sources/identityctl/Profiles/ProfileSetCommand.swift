// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command that changes lines of a profile.
struct ProfileSetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Changes lines of a profile.",
        discussion: """
            Several values of one option become several lines. A profile of the whole machine stays as it is: you get a copy \
            of your own, which stands above it.
            """
    )

    @OptionGroup var profile: ProfileArgument

    @Argument(help: ArgumentHelp("The name of an option, and its value.", valueName: "name=value"))
    var settings: [String]

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        try change(profile.profile(), setting: settings.map(Profile.assignment), removing: [], in: session)
    }
}

/// The command that removes lines of a profile.
struct ProfileUnsetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "unset",
        abstract: "Removes lines of a profile: the options have their defaults again."
    )

    @OptionGroup var profile: ProfileArgument

    @Argument(help: ArgumentHelp("The names of options.", valueName: "option"))
    var names: [String]

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        try change(profile.profile(), setting: [], removing: names, in: session)
    }
}

private func change(
    _ name: ProfileName,
    setting lines: [Profile.Assignment],
    removing names: [String],
    in session: Session
) throws {
    let directory = try ProfileDirectory(session.environment)
    let before = try directory.text(of: name)
    let path = directory.path(of: name)
    let own = try Profile(name, path: path, parsing: before)
    for missing in names where !own.lines.contains(where: { $0.name == missing }) {
        throw UsageError("The profile '\(name)' has no line '\(missing.printable)'.")
    }
    let after = Array(own.text(before, setting: lines, removing: Set(names)).utf8)
    try ProfileCheck.change(name, from: before, to: after, namedAs: path, in: directory, session.environment)
    session.console.line("Changed \(path.printable).")
}

extension Profile {
    typealias Assignment = (name: String, value: String)

    /// Returns the line that NAME=VALUE on a command line means.
    ///
    /// - Throws: `UsageError`, also for a secret, which other users could read there.
    static func assignment(_ text: String) throws -> Assignment {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2 else { throw UsageError("'\(text.printable)' is not of the form NAME=VALUE.") }
        guard parts[0] != "client-secret" else {
            throw UsageError(
                "Other users can read command lines. 'profile add' takes the secret from IDENTITYCTL_CLIENT_SECRET; write the "
                    + "line with 'identityctl profile edit'."
            )
        }
        guard names.contains(parts[0]) else {
            throw UsageError("'\(parts[0].printable)' is not an option that a profile can have.\(hint(at: parts[0]))")
        }
        guard !parts[1].utf8.hasControls else {
            throw UsageError("The value of '\(parts[0])' has a control character, which a profile cannot hold.")
        }
        return (parts[0], parts[1])
    }

    /// Returns the profile's text with other lines for some options. Comments and the other lines stay where they are.
    fileprivate func text(_ before: [UInt8], setting new: [Assignment], removing names: Set<String>) -> String {
        let changed = names.union(new.map(\.name))
        var rows = before.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if rows.last?.isEmpty == true { rows.removeLast() }
        var left = new
        var text: [String] = []
        for (index, row) in rows.enumerated() {
            guard let line = lines.first(where: { $0.number == index + 1 }), changed.contains(line.name) else {
                text.append(row)
                continue
            }
            text += left.filter { $0.name == line.name }.map { "\($0.name) = \($0.value)" }
            left.removeAll { $0.name == line.name }
        }
        text += left.map { "\($0.name) = \($0.value)" }
        return text.map { $0 + "\n" }.joined()
    }
}
