// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// A program with its arguments, found as a shell finds it.
struct Program: Sendable {
    let path: CText
    let arguments: [CText]

    /// Finds the program that the first of `arguments` names.
    ///
    /// - Parameter directories: The value of `PATH`. An empty part is the current directory.
    /// - Throws: `CommandFailure` if there is none that the user may run.
    init(_ arguments: [CText], in directories: CText) throws {
        guard let name = arguments.first, name.count > 1 else {
            throw CommandFailure(description: "The command is empty.", isNotFound: true)
        }
        let slash = CChar(UInt8(ascii: "/"))
        let hasPath = name.contains(slash)
        let candidates =
            hasPath
            ? [name]
            : directories.dropLast().split(separator: CChar(UInt8(ascii: ":")), omittingEmptySubsequences: false)
                .map { $0.isEmpty ? name : $0 + [slash] + name }
        if let path = candidates.first(where: Self.isExecutable) {
            self.path = path
            self.arguments = arguments
            return
        }
        guard let path = candidates.first(where: Self.exists) else {
            let place = hasPath ? "" : " in the directories of PATH"
            throw CommandFailure(description: "There is no command '\(name.text)'\(place).", isNotFound: true)
        }
        throw CommandFailure(
            description: "\(path.text) is not an executable file. Name a program, or make it one: chmod +x",
            isNotFound: false
        )
    }

    /// Replaces this process by the program.
    ///
    /// - Returns: The reason why this failed.
    func replaceProcess(_ variables: [CText]) -> CommandFailure {
        let number = unsafe CText.withPointers(arguments) { arguments in
            unsafe CText.withPointers(variables) { variables in
                _ = unsafe execve(path, arguments, variables)
                return errno
            }
        }
        let reason =
            switch number {
            case ENOEXEC: "it is no program. A script begins with a line such as #!/bin/sh"
            case ENOENT: "the interpreter that its first line names is missing"
            case E2BIG:
                "the arguments and variables are too long. If it is the token, give it in a file: exec --token-file"
            default: unsafe String(cString: strerror(number))
            }
        return CommandFailure(
            description: "\(path.text) could not be started: \(reason)\(number == E2BIG ? "" : ".")",
            isNotFound: number == ENOENT
        )
    }

    private static func exists(_ path: CText) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0
    }

    private static func isExecutable(_ path: CText) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
