// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK
import FoundationEssentials

/// Whether the sandbox can be started in which WebKit runs its pages.
///
/// Where it cannot, WebKit ends the whole program when the first page is to be loaded, which nothing can catch. So it is
/// tried before, with a program that does nothing. Nothing here turns the sandbox off.
enum SandboxProbe {
    /// What `bwrap` says against it; `nil` where it starts, or where it is not WebKit's way.
    ///
    /// - Parameter timeout: For the main loop to come to it, and then for `bwrap` to end.
    /// - Throws: `MainContext.NotRunning`, `CancellationError`.
    static func problem(within timeout: Duration) async throws -> String? {
        let variables = ProcessInfo.processInfo.environment
        let exists = { FileManager.default.fileExists(atPath: $0) }
        // Where it is not installed, WebKit was built without it, or knows another path.
        guard isNeeded(variables, exists: exists), let bwrap = path else { return nil }
        return try await problem(of: [bwrap] + arguments, within: timeout)
    }

    /// A sandbox of the kind that WebKit starts, with no more in it than the program needs: to bind `/` would go through
    /// every mount of the machine, and wait for shares that do not answer.
    static var arguments: [String] {
        let folders = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/nix", "/gnu"].flatMap { ["--ro-bind-try", $0, $0] }
        return ["--unshare-all"] + folders + ["--proc", "/proc", "--dev", "/dev", harmless]
    }

    /// A program that does nothing. Its own name stays, as one program may go by many.
    private static var harmless: String {
        guard let found = g_find_program_in_path("true") else { return "true" }
        defer { g_free(found) }
        return withoutLinkedFolders(String(cString: found))
    }

    /// The same file by a path whose folders are no links: NixOS leads there through `/run`, which is not in the sandbox.
    static func withoutLinkedFolders(_ program: String) -> String {
        let file = URL(filePath: program)
        return file.deletingLastPathComponent().resolvingSymlinksInPath().appending(path: file.lastPathComponent).path()
    }

    /// Whether WebKit starts a sandbox with `bwrap`, come what may: not in a Flatpak or a snap, which are sandboxes; not
    /// in Podman's containers, where it tries first, as this does; and not where the person has switched it off.
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

    /// Runs a program, without a shell, and gives what it complains of; `nil` when it ends well.
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

/// A program that runs. Made on the GTK main context.
// Reviewed exception: the one reference is constant, and GSubprocess takes signals from any thread.
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
                let words = Subprocess.complaint(of: OpaquePointer(source), result)
                Unmanaged<Reply<String?>>.fromOpaque(reply).takeRetainedValue().settle(.success(words))
            },
            Unmanaged.passRetained(reply).toOpaque()
        )
    }

    deinit {
        if let process { g_object_unref(UnsafeMutableRawPointer(process)) }
    }

    /// Ends it, if it still runs.
    func stop() {
        if let process { g_subprocess_force_exit(process) }
    }

    private static func complaint(of process: OpaquePointer, _ result: OpaquePointer?) -> String? {
        var errors: OpaquePointer?
        let isRead = g_subprocess_communicate_finish(process, result, nil, &errors, nil) != 0
        defer { if let errors { g_bytes_unref(errors) } }
        guard isRead, g_subprocess_get_successful(process) == 0 else {
            return isRead ? nil : "it could not be listened to"
        }
        var length: gsize = 0
        let bytes = errors.flatMap { g_bytes_get_data($0, &length) }
        let text = String(
            decoding: UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(length)),
            as: UTF8.self
        )
        let line = text.split(whereSeparator: \.isNewline).first.map { String($0.prefix(200)) }
        return line ?? "it failed, and did not say why"
    }
}
#endif
