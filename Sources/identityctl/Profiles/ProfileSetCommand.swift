// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import OAuthWire

/// The command that changes lines of a profile.
struct ProfileSetCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Changes lines of a profile.",
        discussion: """
            Several values of one option become several lines, in place of all that are there: NAME+=VALUE adds a line, and \
            NAME-=VALUE takes one away. A profile of the whole machine stays as it is: you get a copy of your own, which stands \
            above it.
            """
    )

    @OptionGroup var profile: ProfileArgument

    @Argument(help: ArgumentHelp("The name of an option, and its value.", valueName: "name=value"))
    var settings: [String]

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let name = try profile.profile()
        let directory = try ProfileDirectory(session.environment)
        let own = try Profile(name, path: directory.path(of: name), parsing: directory.text(of: name))
        let (lines, removed) = try ProfileChange(own).assignments(settings)
        try change(name, setting: lines, removing: removed, in: session)
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
    setting lines: [ProfileChange.Assignment],
    removing names: some Sequence<String>,
    in session: Session
) throws {
    let directory = try ProfileDirectory(session.environment)
    let before = try directory.text(of: name)
    let path = directory.path(of: name)
    let own = try Profile(name, path: path, parsing: before)
    for missing in names where !own.lines.contains(where: { $0.name == missing }) {
        throw UsageError("The profile '\(name)' has no line '\(missing.printable)'.")
    }
    let after = Array(ProfileChange(own).text(before, setting: lines, removing: Set(names)).utf8)
    let isCopied = !directory.isOwn(name)
    try ProfileCheck.change(name, from: before, to: after, namedAs: path, in: directory, session.environment)
    let left = Set(try Profile(name, path: path, parsing: after).lines.map(\.text))
    let gone = own.lines.map(\.text).filter { !left.contains($0) }
    let copy = """
         It is your own copy from now on, and does not follow the machine's profile \(directory.sharedPath(of: name)). To go back \
        to that: identityctl profile remove \(name)
        """
    try session.done(
        "Changed \(path.printable)." + (gone.isEmpty ? "" : " Gone: \(gone.joined(separator: "; ")).")
            + (isCopied ? copy : "")
    )
}

extension Profile.Line {
    /// The line for a person, without a secret.
    fileprivate var text: String { name == "client-secret" ? name : "\(name) = \(value.printable)" }
}

/// The lines that a command line gives a profile in place of others.
struct ProfileChange {
    typealias Assignment = (name: String, value: String)

    private let profile: Profile

    init(_ profile: Profile) { self.profile = profile }

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
        guard Profile.names.contains(parts[0]) else {
            throw UsageError(
                "'\(parts[0].printable)' is not an option that a profile can have.\(Profile.hint(at: parts[0]))"
            )
        }
        guard !parts[1].utf8.hasControls else {
            throw UsageError("The value of '\(parts[0])' has a control character, which a profile cannot hold.")
        }
        return (parts[0], parts[1])
    }

    /// Returns the lines that NAME=VALUE, NAME+=VALUE and NAME-=VALUE on a command line mean, and the names without a line after
    /// them.
    ///
    /// - Throws: `UsageError`, also to add to a name that stands in one line only, or to take away what is not there.
    func assignments(_ texts: [String]) throws -> (lines: [Assignment], removed: Set<String>) {
        var values: [(name: String, values: [String])] = []
        for text in texts {
            let sign = text.prefix { $0 != "=" }.last
            guard let sign, "+-".contains(sign), let equals = text.firstIndex(of: "=") else {
                let line = try Self.assignment(text)
                let index = values.firstIndex { $0.name == line.name }
                if let index {
                    values[index].values.append(line.value)
                } else {
                    values.append((line.name, [line.value]))
                }
                continue
            }
            let name = text[..<text.index(before: equals)]
            let (line, value) = try Self.assignment("\(name)\(text[equals...])")
            guard Profile.lists.contains(line) else {
                throw UsageError("'\(line)' stands in one line only. Give \(line)=VALUE.")
            }
            let index = values.firstIndex { $0.name == line } ?? values.endIndex
            if index == values.endIndex { values.append((line, profile.each(line).map(\.text))) }
            let isThere = values[index].values.contains(value)
            guard sign == "+" || isThere else {
                throw UsageError("The profile '\(profile.name)' has no line '\(line) = \(value.printable)'.")
            }
            if sign == "-" {
                values[index].values.removeAll { $0 == value }
            } else if !isThere {
                values[index].values.append(value)
            }
        }
        let lines = values.flatMap { name, values in values.map { (name, $0) } }
        return (lines, Set(values.filter(\.values.isEmpty).map(\.name)))
    }

    /// Returns the profile's text with other lines for some options. Comments and the other lines stay where they are.
    func text(_ before: [UInt8], setting new: [Assignment], removing names: Set<String>) -> String {
        let changed = names.union(new.map(\.name))
        var rows = before.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if rows.last?.isEmpty == true { rows.removeLast() }
        var left = new
        var text: [String] = []
        for (index, row) in rows.enumerated() {
            guard let line = profile.lines.first(where: { $0.number == index + 1 }), changed.contains(line.name) else {
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
