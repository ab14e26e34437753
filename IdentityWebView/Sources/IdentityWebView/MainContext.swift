// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK

/// The GTK main context, on which all work with GTK and WebKit happens.
///
/// Under `g_main_loop_run`, Dispatch's main queue is never drained, so Swift's main actor never runs there.
/// `g_idle_add` may be called from any thread and is the only way in.
enum MainContext {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Performs `body` on the main context when its loop runs next. Bodies run in the order in which they are passed
    /// in.
    static func perform(_ body: @escaping @Sendable () -> Void) {
        g_idle_add_full(
            G_PRIORITY_DEFAULT,
            { data in
                if let data { Unmanaged<Work>.fromOpaque(data).takeUnretainedValue().body() }
                return 0  // once
            },
            Unmanaged.passRetained(Work(body)).toOpaque(),
            { data in
                if let data { Unmanaged<Work>.fromOpaque(data).release() }
            }
        )
    }

    /// Performs `body` on the main context and returns its value.
    ///
    /// - Throws: ``NotRunning`` if the loop has not run `body` within `timeout`, `CancellationError`, or the error of
    ///   `body`. In the first two cases `body` may still run later.
    static func value<Value: Sendable>(
        within timeout: Duration,
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let reply = Reply<Value>()
        let timer = Task {
            try await Task.sleep(for: timeout)
            reply.settle(.failure(NotRunning()))
        }
        defer { timer.cancel() }
        perform { reply.settle(Result { try body() }) }
        return try await reply.value()
    }

    /// The error if no main loop is running.
    struct NotRunning: Error {}
}
#endif
