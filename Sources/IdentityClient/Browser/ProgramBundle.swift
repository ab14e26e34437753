// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The AppImage or snap that contains the program. Its launcher points the loader, GTK, GIO and others at the bundle's libraries. A system program that finds these libraries may not even start.
enum ProgramBundle {
    /// The variables for a program outside the bundle, without the bundle's paths.
    ///
    /// This covers every variable: packaging tools set a dozen or more, and a path in a bundle is useless outside.
    static func environment(_ variables: [String: String], outside roots: [String]) -> [String: String] {
        guard !roots.isEmpty else { return variables }
        return variables.reduce(into: variables) { result, variable in
            let (name, value) = variable
            guard !marks.contains(name) else { return }
            let entries = value.split { $0 == ":" || name == "LD_PRELOAD" && $0.isWhitespace }
            let outside = entries.filter { entry in
                !roots.contains { entry == $0 || entry.hasPrefix($0 + "/") }
            }
            guard outside.count < entries.count else { return }
            result[name] = outside.isEmpty ? nil : outside.joined(separator: ":")
        }
    }

    /// The directories of the bundles in these variables. A program may have inherited the variables, from a terminal
    /// in an AppImage for example, and the paths with them.
    static func roots(_ variables: [String: String], exists: (String) -> Bool) -> [String] {
        var roots: [String] = []
        // Others use the variable too; an AppImage has this file.
        if let root = root(variables["APPDIR"]), exists("\(root)/AppRun") { roots.append(root) }
        if let root = root(variables["SNAP"]), variables["SNAP_NAME"] != nil, variables["SNAP_REVISION"] != nil {
            roots.append(root)
        }
        return roots
    }

    /// These variables name the bundle; `xdg-open` in a snap's sandbox may need them.
    private static let marks: Set<String> = ["APPDIR", "SNAP"]

    private static func root(_ path: String?) -> String? {
        guard var path = path?[...], path.hasPrefix("/") else { return nil }
        while path.hasSuffix("/") { path.removeLast() }
        return path.isEmpty ? nil : String(path)
    }
}
