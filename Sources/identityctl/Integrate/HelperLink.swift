// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The name by which a tool looks for its helper in `PATH`. It leads to this program.
struct HelperLink: Sendable {
    let name: String
    let home: Home

    init(_ name: String, _ home: Home) {
        self.name = name
        self.home = home
    }

    /// The link's place, unless a package has put the name into `PATH`.
    var path: String { "\(home.programs)/\(name)" }

    /// Whether the tool finds this program under the name.
    var isFound: Bool { home.find(name).map(home.isThisProgram) ?? false }

    /// The reason why the tool does not find the link where it belongs; `nil` if it finds it.
    var obstacle: String? {
        for directory in home.searched {
            if directory == home.programs { return nil }
            let other = "\(directory)/\(name)"
            guard unsafe access(other, X_OK) == 0 else { continue }
            return home.isThisProgram(other)
                ? nil
                : "\(other.printable) comes before \(home.programs.printable) in PATH, and is called in its place."
        }
        return "\(home.programs.printable) is not in PATH. Add it, for tools to find \(name)."
    }

    /// Returns the change that makes the link, if it is missing.
    ///
    /// - Throws: `UsageError` if another file has its place.
    func making() throws -> [Change] {
        // A link of an earlier version leads to a file that another version will not have.
        let isShortLived = target == home.program && home.linked != home.program
        if isFound, !isShortLived { return [] }
        guard isPresent else { return [.link(path, to: home.linked)] }
        guard isOurs else {
            throw UsageError("\(path.printable) is no link to identityctl. Move it away, and try again.")
        }
        return home.isThisProgram(path) && !isShortLived ? [] : [.link(path, to: home.linked)]
    }

    /// The file that the link names; `nil` if there is no link.
    private var target: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: path) }

    /// Returns the change that removes the link, if it is there.
    func removing() -> [Change] { isPresent && isOurs ? [.unlink(path)] : [] }

    private var isPresent: Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Whether the link leads to this program, or to another copy of it, which may be gone.
    private var isOurs: Bool {
        guard let target else { return false }
        return home.isThisProgram(path) || target.split(separator: "/").last == "identityctl"
    }
}
