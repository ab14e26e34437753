// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A tool that is set up by lines of a text file, because it has no command for them.
struct LinesIntegration: Integration {
    let tool: IntegratedTool
    let home: Home
    let link: HelperLink?
    /// The tool's file in the person's home.
    let path: String
    /// Returns the lines for a subject, and what a person should know.
    let lines: @Sendable (IntegrationSubject) throws -> (lines: [String], notes: [String])
    /// Whether a line of the person's own stands in the way of a line of these.
    let conflicts: @Sendable (_ other: String, _ own: String) -> Bool
    /// The lines that stay as long as there are others.
    var common: [String] = []
    /// Returns the setting that a line makes.
    let use: @Sendable (String) -> IntegrationUse?
    /// Returns the settings that a person's own lines make, which stay.
    var usesOfPerson: @Sendable ([String]) -> [IntegrationUse] = { _ in [] }
    /// Whether a line of these that makes the same setting as another one is an older form of it.
    var replacesSameUse = false
    /// Whether another tool uses the same link.
    var isLinkShared: @Sendable () async throws -> Bool = { false }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var content = try MarkedLines(file, of: tool.name)
        let (wanted, notes) = try lines(subject)
        var missing: [String] = []
        for line in wanted + common where !(content.lines + missing).contains(line) {
            content.lines.removeAll { isOlder($0, than: line) }
            // The same line is as good, but a section must not be there twice.
            let isSame = content.others.contains(line) && !line.hasPrefix("[")
            if let other = (content.others + content.lines).first(where: { conflicts($0, line) }), !isSame {
                throw UsageError(
                    "\(path.printable) has the line '\(other.printable)'. Change it yourself, so that it means: \(line)"
                )
            }
            if !isSame { missing.append(line) }
        }
        content.lines += missing
        return IntegrationPlan(
            changes: try (link?.making() ?? [])
                + (missing.isEmpty ? [] : [.write(file, content.bytes, "add \(Self.summary(missing))")]),
            notes: notes + [link?.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var content = try MarkedLines(file, of: tool.name)
        let unwanted = try subject.map { try lines($0).lines } ?? content.lines
        let before = content.lines
        content.lines.removeAll { line in unwanted.contains { $0 == line || isOlder(line, than: $0) } }
        if content.lines.allSatisfy(common.contains) { content.lines = [] }
        let removed = before.filter { !content.lines.contains($0) }
        var isNeeded = !content.lines.isEmpty
        if !isNeeded { isNeeded = try await isLinkShared() }
        return IntegrationPlan(
            changes: (removed.isEmpty ? [] : [.write(file, content.bytes, "remove \(Self.summary(removed))")])
                + (isNeeded ? [] : link?.removing() ?? []),
            notes: usesOfPerson(content.others).map {
                "The entry '\($0.label.printable)' in \(path.printable) is your own, and stays. Remove it there."
            }
        )
    }

    /// The lines for a person, without the forwarder's words.
    private static func summary(_ lines: [String]) -> String {
        let parts = lines.joined(separator: "; ").split(separator: "fwd_", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(String(parts[0])) { text, part in
            text + "fwd_…" + part.drop { "-_".contains($0) || $0.isLetter || $0.isNumber }
        }
    }

    private func isOlder(_ line: String, than other: String) -> Bool {
        guard replacesSameUse, let use = use(other) else { return false }
        return self.use(line)?.isSame(as: use) == true
    }

    func uses() async throws -> [IntegrationUse] {
        let content = try MarkedLines(try ConfigFile(path), of: tool.name)
        return content.lines.compactMap(use) + usesOfPerson(content.others)
    }
}
