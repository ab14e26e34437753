// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The AppImage or snap that a program comes in. What starts it points the loader, GTK, GIO and others at the libraries in it,
/// which are no other program's: one of the system's that finds them there may not even start.
enum ProgramBundle {
    /// The variables for a program that is not in the bundle: without its paths.
    ///
    /// Whichever variable it is. What packs bundles sets a dozen of them and more, and an entry that lies in a bundle is of
    /// no use outside.
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

    /// Where the bundles are that these variables tell of. A program may have inherited them, from a terminal in an AppImage
    /// for example; so it may have the paths.
    static func roots(_ variables: [String: String], exists: (String) -> Bool) -> [String] {
        var roots: [String] = []
        // Others use the name, too; what is packed as an AppImage has this file.
        if let root = root(variables["APPDIR"]), exists("\(root)/AppRun") { roots.append(root) }
        if let root = root(variables["SNAP"]), variables["SNAP_NAME"] != nil, variables["SNAP_REVISION"] != nil {
            roots.append(root)
        }
        return roots
    }

    /// They say where the bundle is. The `xdg-open` in a snap's sandbox may ask.
    private static let marks: Set<String> = ["APPDIR", "SNAP"]

    private static func root(_ path: String?) -> String? {
        guard var path = path?[...], path.hasPrefix("/") else { return nil }
        while path.hasSuffix("/") { path.removeLast() }
        return path.isEmpty ? nil : String(path)
    }
}
