// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The actor of GLib's default main context, which is GTK's thread: it has the role that `@MainActor` has elsewhere.
///
/// While a GTK program runs, its first thread runs GLib's main loop, which does not serve Dispatch's main queue: jobs of
/// `@MainActor` never run there. Each job of this actor is an idle source of GLib's default main context instead, before drawing
/// and in the order in which the jobs came. Make code that touches a widget `@MainContext`: elsewhere it does not compile.
///
/// ```swift
/// Task { @MainContext in
///     let result = try await app.acquireTokenInteractively(scopes: ["User.Read"])  // GTK goes on meanwhile
///     label.text = result.account.username ?? ""
/// }
/// ```
///
/// GLib (`libglib-2.0.so.0`) is found when it is first used, whatever bindings the program has. Without it the program ends.
@globalActor
public actor MainContext {
    /// The only instance.
    public static let shared = MainContext()

    private static let executor = MainContextExecutor()

    /// The executor that gives jobs to GLib.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe Self.executor.asUnownedSerialExecutor()
    }

    /// Runs `work` at once. For callbacks from GTK, which run on its thread without the compiler's knowledge.
    ///
    /// Ends the program if called on another thread.
    public static func assumeIsolated<Value>(_ work: @MainContext () throws -> Value) rethrows -> Value {
        executor.checkIsolated()
        return try withoutActuallyEscaping(work) { work in
            // The isolation is part of the type only, and was just checked.
            try unsafe unsafeBitCast(work, to: (() throws -> Value).self)()
        }
    }

    /// Runs `work` as soon as the main loop is ready. May be called on any thread, as from
    /// `InteractiveParameters.onProgress`.
    ///
    /// - Parameters:
    ///   - whenIdle: Whether `work` waits until the main loop has nothing else to do, and what has changed is drawn.
    ///   - work: The work.
    public static func perform(whenIdle: Bool = false, _ work: @escaping @Sendable @MainContext () -> Void) {
        GLib.loaded.schedule(whenIdle ? GLib.idle : GLib.soon) { assumeIsolated(work) }
    }
}

private final class MainContextExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        GLib.loaded.schedule(GLib.soon) { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Checks that this thread runs the main loop, or is about to.
    func checkIsolated() {
        precondition(GLib.loaded.isOnMainThread, "This is not the thread of GLib's main loop.")
    }
}

/// The three functions of GLib.
@safe private struct GLib: Sendable {
    private typealias Run = @convention(c) (UnsafeMutableRawPointer?) -> CInt
    private typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
    private typealias AddIdle = @convention(c) (CInt, Run, UnsafeMutableRawPointer?, Release) -> CUnsignedInt
    private typealias DefaultContext = @convention(c) () -> OpaquePointer?
    private typealias IsOwner = @convention(c) (OpaquePointer?) -> CInt

    /// `G_PRIORITY_DEFAULT`.
    static let soon: CInt = 0
    /// `G_PRIORITY_DEFAULT_IDLE`.
    static let idle: CInt = 200
    static let loaded = GLib()

    private let addIdle: AddIdle
    private let defaultContext: DefaultContext
    private let isOwner: IsOwner

    /// A GTK program has the library already, so that nothing is loaded.
    private init() {
        guard let library = unsafe dlopen("libglib-2.0.so.0", RTLD_NOW),
            let addIdle = unsafe dlsym(library, "g_idle_add_full"),
            let defaultContext = unsafe dlsym(library, "g_main_context_default"),
            let isOwner = unsafe dlsym(library, "g_main_context_is_owner")
        else { preconditionFailure("MainContext needs GLib (libglib-2.0.so.0), which is not installed here.") }
        unsafe self.addIdle = unsafeBitCast(addIdle, to: AddIdle.self)
        unsafe self.defaultContext = unsafeBitCast(defaultContext, to: DefaultContext.self)
        unsafe self.isOwner = unsafeBitCast(isOwner, to: IsOwner.self)
    }

    var isOnMainThread: Bool { unsafe isOwner(defaultContext()) != 0 }

    func schedule(_ priority: CInt, _ work: @escaping @Sendable () -> Void) {
        let job = unsafe Unmanaged.passRetained(Job(work))
        let run: Run = { data in
            if let data = unsafe data { unsafe Unmanaged<Job>.fromOpaque(data).takeUnretainedValue().work() }
            return 0  // G_SOURCE_REMOVE
        }
        // Also called where the main loop ends before the job ran.
        let release: Release = { data in
            if let data = unsafe data { unsafe Unmanaged<Job>.fromOpaque(data).release() }
        }
        unsafe _ = addIdle(priority, run, job.toOpaque(), release)
    }
}

private final class Job: Sendable {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }
}
