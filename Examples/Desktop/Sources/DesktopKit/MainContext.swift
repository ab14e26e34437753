// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// The actor of the GTK thread, with the role that `@MainActor` has on other platforms.
///
/// While a GTK program runs, its main thread runs GLib's main loop, which does not serve Dispatch's main queue. Jobs
/// sent to `@MainActor` therefore never run. This actor's jobs go to GLib's default main context instead, as one idle
/// source each. Code that touches a widget is `@MainContext`, and the compiler enforces it.
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
    /// The only instance.
    public static let shared = MainContext()

    private static let executor = MainContextExecutor()

    /// The executor that hands jobs to GLib.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    /// Runs `work` at once. Use it in callbacks from GTK, which run on the GTK thread without the compiler's knowledge.
    ///
    /// Ends the program if called on another thread.
    public static func assumeIsolated<Value>(_ work: @MainContext () throws -> Value) rethrows -> Value {
        executor.checkIsolated()
        return try withoutActuallyEscaping(work) { work in
            // The isolation is part of the type only, and was just checked.
            try unsafeBitCast(work, to: (() throws -> Value).self)()
        }
    }
}

/// Runs `work` on the GTK thread as soon as its main loop is ready. May be called on any thread.
public func onMainContext(_ work: @escaping @Sendable @MainContext () -> Void) {
    schedule { MainContext.assumeIsolated(work) }
}

/// Runs `work` when the main loop has nothing else to do, and what has changed is drawn.
@MainContext
func whenDrawn(_ work: @escaping @Sendable @MainContext () -> Void) {
    schedule(priority: G_PRIORITY_DEFAULT_IDLE) { MainContext.assumeIsolated(work) }
}

/// Adds an idle source, which the main loop runs once; by default before drawing and in the order of the calls.
private func schedule(priority: Int32 = G_PRIORITY_DEFAULT, _ work: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Job(work))
    g_idle_add_full(
        priority,
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

    /// Checks that this thread runs the main loop, or is about to.
    func checkIsolated() {
        precondition(g_main_context_is_owner(g_main_context_default()) != 0, "This is not GTK's thread.")
    }
}
