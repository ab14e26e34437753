// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import Glibc
import Synchronization
package import SystemSupport

/// The process's thread with a GLib main context, on which all GLib work happens. It never ends.
// Reviewed exception: the handle never changes, and `cgio_thread_do` may be called from any thread.
@safe package final class GLibThread: @unchecked Sendable {
    /// The arguments of `cgio_started`.
    private typealias Started = (OpaquePointer?, cgio_readiness, UnsafePointer<CChar>?)

    /// The threads by the name of GIO's library. Outside tests there is only one.
    private static let threads = Mutex<[String: Promise<GLibThread>]>([:])

    private let handle: OpaquePointer

    private init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    /// Returns the thread. The first call starts it and loads GIO on it, so that the caller's thread does not wait for a
    /// disk. After a failure, the next call looks for the library again.
    /// - Throws: `LibraryProblem`, `CancellationError`.
    package static func running(library: String) async throws -> GLibThread {
        let (thread, isNew) = threads.withLock { threads in
            if let thread = threads[library] { return (thread, false) }
            let thread = Promise<GLibThread>()
            threads[library] = thread
            return (thread, true)
        }
        if isNew { start(library, thread) }
        return try await thread.value()
    }

    private static func start(_ library: String, _ thread: Promise<GLibThread>) {
        let fail: @Sendable (LibraryProblem) -> Void = { problem in
            threads.withLock { $0[library] = nil }
            thread.finish(.failure(problem))
        }
        let box = unsafe CallbackBox<Started> { started in
            if let handle = unsafe started.0 {
                unsafe thread.finish(.success(GLibThread(handle)))
            } else {
                unsafe fail(LibraryProblem(started.1, library: library, reason: started.2) ?? .exhausted)
            }
        }
        let started: cgio_started = { data, handle, readiness, reason in
            guard let data = unsafe data else { return }
            unsafe CallbackBox<Started>.taken(data).body((handle, readiness, reason))
        }
        let data = unsafe box.retained()
        guard unsafe cgio_thread_start(library, started, data) == 0 else {
            unsafe _ = CallbackBox<Started>.taken(data)
            return fail(.exhausted)
        }
    }

    /// Performs `work` on the thread. Work is performed in the order in which it is passed in.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        let box = CallbackBox<Void> { work() }
        let run: cgio_work = { data in
            guard let data = unsafe data else { return }
            unsafe CallbackBox<Void>.taken(data).body(())
        }
        unsafe cgio_thread_do(handle, run, box.retained())
    }

    /// Performs `work` on the thread and waits for the value or failure with which it settles the reply.
    package func reply<Value: Sendable>(_ work: @escaping @Sendable (Promise<Value>) -> Void) async throws -> Value {
        try await begin(work).value()
    }

    /// Performs `work` on the thread and returns the reply that `work` settles.
    package func begin<Value: Sendable>(_ work: @escaping @Sendable (Promise<Value>) -> Void) -> Promise<Value> {
        let reply = Promise<Value>()
        perform { work(reply) }
        return reply
    }
}
