// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import Glibc

/// A thread of its own with a GLib main context, on which everything of GLib happens. It ends with this object,
/// when the connections that were made on it are closed; nobody waits for that.
// Reviewed exception: the handle never changes; `cgio_thread_do` may be called from any thread, and `cgio_thread_stop`
// is called once, by `deinit`.
@safe package final class GLibThread: @unchecked Sendable {
    /// What `cgio_started` is told.
    private typealias Started = (OpaquePointer?, cgio_readiness, UnsafePointer<CChar>?)

    private let handle: OpaquePointer

    private init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    deinit {
        unsafe cgio_thread_stop(handle)
    }

    /// Starts a thread, and loads GIO on it: where the caller runs, nothing waits for a disk.
    /// - Throws: `LibraryProblem`, `CancellationError`.
    package static func start(library: String) async throws -> GLibThread {
        let reply = Reply<GLibThread>()
        let box = unsafe CallbackBox<Started> { started in
            if let handle = unsafe started.0 {
                unsafe reply.settle(.success(GLibThread(handle)))
            } else {
                let problem = unsafe LibraryProblem(started.1, library: library, reason: started.2)
                reply.settle(.failure(problem ?? .exhausted))
            }
        }
        let started: cgio_started = { data, handle, readiness, reason in
            guard let data = unsafe data else { return }
            unsafe CallbackBox<Started>.taken(data).body((handle, readiness, reason))
        }
        let data = unsafe box.retained()
        guard unsafe cgio_thread_start(library, started, data) == 0 else {
            unsafe _ = CallbackBox<Started>.taken(data)
            throw LibraryProblem.exhausted
        }
        return try await reply.value()
    }

    /// Does `work` on the thread, in the order in which it is given.
    package func perform(_ work: @escaping @Sendable () -> Void) {
        let box = CallbackBox<Void> { work() }
        let run: cgio_work = { data in
            guard let data = unsafe data else { return }
            unsafe CallbackBox<Void>.taken(data).body(())
        }
        unsafe cgio_thread_do(handle, run, box.retained())
    }

    /// Does `work` on the thread and waits for what it settles the reply with.
    package func reply<Value: Sendable>(_ work: @escaping @Sendable (Reply<Value>) -> Void) async throws -> Value {
        try await begin(work).value()
    }

    /// Has `work` done on the thread; the reply is what it settles.
    package func begin<Value: Sendable>(_ work: @escaping @Sendable (Reply<Value>) -> Void) -> Reply<Value> {
        let reply = Reply<Value>()
        perform { work(reply) }
        return reply
    }

    /// Closes a connection, of which nothing is told any more, and lets go of it.
    func end(_ connection: GLibPointer) {
        perform { unsafe cgio_connection_end(self.handle, connection.pointer) }
    }
}
