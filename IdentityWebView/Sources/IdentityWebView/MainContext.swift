// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK

/// The GTK main context, on which everything of GTK and WebKit happens.
///
/// Under `g_main_loop_run`, nothing drains Dispatch's main queue: Swift's main actor never runs there. `g_idle_add` may
/// be called from any thread, and is the one way in.
enum MainContext {
    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Does `body` on the main context, in the order in which it is given, when its loop runs next.
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

    /// What `body` gives on the main context.
    ///
    /// - Throws: ``NotRunning`` when the loop has not come to it within `timeout`, `CancellationError`, what `body`
    ///   throws. In the first two cases `body` may still run later.
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

    /// No main loop runs.
    struct NotRunning: Error {}
}
#endif
