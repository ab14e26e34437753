// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK
import FoundationEssentials

/// A check whether the sandbox in which WebKit runs its pages can be started.
///
/// If it cannot, WebKit ends the whole program when it loads the first page, and a program cannot prevent that. The
/// check therefore tries the sandbox first, with a program that does nothing. It never turns the sandbox off.
enum SandboxProbe {
    /// Returns the error message of `bwrap`; `nil` if the sandbox starts, or if WebKit does not use `bwrap` here.
    ///
    /// - Parameter timeout: The limit for the main loop to respond, and then for `bwrap` to end.
    /// - Throws: `MainContext.NotRunning`, `CancellationError`.
    static func problem(within timeout: Duration) async throws -> String? {
        let variables = ProcessInfo.processInfo.environment
        let exists = { FileManager.default.fileExists(atPath: $0) }
        // If `bwrap` is not installed, WebKit was built without it or knows another path.
        guard isNeeded(variables, exists: exists), let bwrap = path else { return nil }
        return try await problem(of: [bwrap] + arguments, within: timeout)
    }

    /// The arguments for a sandbox like WebKit's, with no more in it than the program needs. Binding `/` would visit
    /// every mount of the machine and wait for shares that do not answer.
    static var arguments: [String] {
        let folders = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/nix", "/gnu"].flatMap { ["--ro-bind-try", $0, $0] }
        return ["--unshare-all"] + folders + ["--proc", "/proc", "--dev", "/dev", emptyProgram]
    }

    /// A program that does nothing. Its file name is kept, because one program may serve many names.
    private static var emptyProgram: String {
        guard let found = g_find_program_in_path("true") else { return "true" }
        defer { g_free(found) }
        return withoutLinkedFolders(String(cString: found))
    }

    /// Returns a path to the same file without symbolic links to folders. NixOS links through `/run`, which is not in
    /// the sandbox.
    static func withoutLinkedFolders(_ program: String) -> String {
        let file = URL(filePath: program)
        return file.deletingLastPathComponent().resolvingSymlinksInPath().appending(path: file.lastPathComponent).path()
    }

    /// Returns whether WebKit always starts a sandbox with `bwrap`. It does not in a Flatpak or a snap, which are
    /// sandboxes themselves; in Podman's containers, where it tries `bwrap` first, as this check does; or if the person
    /// has turned the sandbox off.
    static func isNeeded(_ variables: [String: String], exists: (String) -> Bool) -> Bool {
        let isSnap = ["SNAP", "SNAP_NAME", "SNAP_REVISION"].allSatisfy { variables[$0] != nil }
        let isOff = variables["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"].map { $0 != "0" } ?? false
        return !isSnap && !isOff && !["/.flatpak-info", "/run/.containerenv"].contains(where: exists)
    }

    private static var path: String? {
        let usual = "/usr/bin/bwrap"
        guard g_file_test(usual, G_FILE_TEST_IS_EXECUTABLE) == 0 else { return usual }
        guard let found = g_find_program_in_path("bwrap") else { return nil }
        defer { g_free(found) }
        return String(cString: found)
    }

    /// Runs a program without a shell and returns its error output; `nil` if it succeeds.
    static func problem(of command: [String], within timeout: Duration) async throws -> String? {
        let reply = Reply<String?>()
        let process = try await MainContext.value(within: timeout) { Subprocess(command, reply) }
        let timer = Task {
            try await Task.sleep(for: timeout)
            reply.settle(.success("\(command[0]) did not end in time"))
        }
        defer {
            timer.cancel()
            process.stop()
        }
        return try await reply.value()
    }
}

/// A running program. Created on the GTK main context.
// Reviewed exception: the only reference is constant, and GSubprocess accepts signals from any thread.
private final class Subprocess: @unchecked Sendable {
    private let process: OpaquePointer?

    init(_ command: [String], _ reply: Reply<String?>) {
        let words = command.map { g_strdup($0) }
        defer { for word in words { g_free(word) } }
        let arguments = words.map { UnsafePointer($0) } + [nil]
        let flags = G_SUBPROCESS_FLAGS_STDOUT_SILENCE.rawValue | G_SUBPROCESS_FLAGS_STDERR_PIPE.rawValue
        process = g_subprocess_newv(arguments, GSubprocessFlags(rawValue: flags), nil)
        guard let process else {
            reply.settle(.success("\(command[0]) could not be started"))
            return
        }
        g_subprocess_communicate_async(
            process,
            nil,
            nil,
            { source, result, reply in
                guard let source, let reply else { return }
                let words = Subprocess.errorMessage(of: OpaquePointer(source), result)
                Unmanaged<Reply<String?>>.fromOpaque(reply).takeRetainedValue().settle(.success(words))
            },
            Unmanaged.passRetained(reply).toOpaque()
        )
    }

    deinit {
        if let process { g_object_unref(UnsafeMutableRawPointer(process)) }
    }

    /// Ends the program if it is still running.
    func stop() {
        if let process { g_subprocess_force_exit(process) }
    }

    private static func errorMessage(of process: OpaquePointer, _ result: OpaquePointer?) -> String? {
        var errors: OpaquePointer?
        let isRead = g_subprocess_communicate_finish(process, result, nil, &errors, nil) != 0
        defer { if let errors { g_bytes_unref(errors) } }
        guard isRead, g_subprocess_get_successful(process) == 0 else {
            return isRead ? nil : "its error output could not be read"
        }
        var length: gsize = 0
        let bytes = errors.flatMap { g_bytes_get_data($0, &length) }
        let text = String(
            decoding: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(length)),
            as: UTF8.self
        )
        let line = text.split(whereSeparator: \.isNewline).first.map { String($0.prefix(200)) }
        return line ?? "it failed without a message"
    }
}
#endif
