// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// The thread of GTK, as Swift's concurrency sees it: what `@MainActor` is to programs of other platforms.
///
/// While a GTK program runs, its main thread sits in GLib's main loop, which knows nothing of Dispatch's main queue:
/// what is sent to `@MainActor` never runs. This actor's jobs go to GLib's default main context instead, one idle source
/// each. Code that touches a widget is `@MainContext`, and the compiler sees to it.
///
/// ```swift
/// Task { @MainContext in
///     button.isSensitive = false
///     let result = try await application.acquireTokenInteractively(scopes: ["User.Read"])  // GTK goes on meanwhile
///     label.text = result.account.username ?? ""
/// }
/// ```
@globalActor
public actor MainContext {
    /// The one there is.
    public static let shared = MainContext()

    private static let executor = MainContextExecutor()

    /// Hands jobs to GLib.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    /// Runs `work` at once. GTK calls the program back on its own thread, of which the compiler does not know.
    ///
    /// Ends the program when called on another thread.
    public static func assumeIsolated<Value>(_ work: @MainContext () throws -> Value) rethrows -> Value {
        executor.checkIsolated()
        return try withoutActuallyEscaping(work) { work in
            // The isolation is part of the type only, and was just checked.
            try unsafeBitCast(work, to: (() throws -> Value).self)()
        }
    }
}

/// Runs `work` on GTK's thread as soon as its main loop gets there. May be called on any thread.
public func onMainContext(_ work: @escaping @Sendable @MainContext () -> Void) {
    schedule { MainContext.assumeIsolated(work) }
}

/// The bridge: an idle source, which the main loop runs once, ahead of drawing and in the order of the calls.
private func schedule(_ work: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Job(work))
    g_idle_add_full(
        G_PRIORITY_DEFAULT,
        { data in
            if let data { Unmanaged<Job>.fromOpaque(data).takeUnretainedValue().work() }
            return G_SOURCE_REMOVE
        },
        box.toOpaque(),
        { data in if let data { Unmanaged<Job>.fromOpaque(data).release() } }
    )
}

private final class Job: Sendable {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }
}

private final class MainContextExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        schedule { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Whether this thread runs the main loop, or is about to.
    func checkIsolated() {
        precondition(g_main_context_is_owner(g_main_context_default()) != 0, "This is not GTK's thread.")
    }
}
