// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityGLib
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1)), .enabled(if: MainLoop.isStarted, "GLib is not installed here."))
struct MainContextTests {
    private static func thread() -> pthread_t { pthread_self() }

    @MainContext private static func threadOfTheActor() -> pthread_t { thread() }

    @Test func runsEverythingOnTheThreadOfTheMainLoop() async {
        let loop = await withCheckedContinuation { continuation in
            MainContext.perform { continuation.resume(returning: Self.thread()) }
        }
        #expect(await Self.threadOfTheActor() == loop)
        #expect(await Task { @MainContext in Self.thread() }.value == loop)
        #expect(Self.thread() != loop)
    }

    @Test func comesBackAfterEveryWait() async throws {
        let threads = try await Task { @MainContext in
            let before = Self.thread()
            try await Task.sleep(for: .milliseconds(1))
            return [before, Self.thread()]
        }.value
        #expect(threads.first == threads.last)
    }

    @Test func keepsTheOrderOfCalls() async {
        let seen = Numbers()
        await withCheckedContinuation { continuation in
            for number in 0..<100 { MainContext.perform { seen.all.withLock { $0.append(number) } } }
            MainContext.perform { continuation.resume() }
        }
        #expect(seen.all.withLock { $0 } == Array(0..<100))
    }

    /// Both are queued in one turn of the loop, the patient one first.
    @Test func letsWhatMustBeSoonGoFirst() async {
        let seen = Numbers()
        await withCheckedContinuation { continuation in
            MainContext.perform {
                MainContext.perform(whenIdle: true) {
                    seen.all.withLock { $0.append(2) }
                    continuation.resume()
                }
                MainContext.perform { seen.all.withLock { $0.append(1) } }
            }
        }
        #expect(seen.all.withLock { $0 } == [1, 2])
    }

    @Test func letsCallbacksInOnItsOwnThread() async {
        // Plays a callback from C, whose thread the compiler does not know.
        @Sendable func callback() -> pthread_t { MainContext.assumeIsolated { Self.threadOfTheActor() } }
        let loop = await Self.threadOfTheActor()
        #expect(await Task { @MainContext in callback() }.value == loop)
    }
}

private final class Numbers: Sendable {
    let all = Mutex<[Int]>([])
}

/// GLib's main loop on a thread of its own. A program runs it on its first thread.
private enum MainLoop {
    /// Whether GLib is there. Its loop runs from the first question until the process ends.
    static let isStarted: Bool = {
        guard let library = unsafe dlopen("libglib-2.0.so.0", RTLD_NOW) else { return false }
        func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
            unsafe dlsym(library, name).map { unsafe unsafeBitCast($0, to: type) }
        }
        guard let context = unsafe function("g_main_context_default", (@convention(c) () -> OpaquePointer?).self),
            let acquire = unsafe function("g_main_context_acquire", (@convention(c) (OpaquePointer?) -> CInt).self),
            let make = unsafe function("g_main_loop_new", Make.self),
            let run = unsafe function("g_main_loop_run", (@convention(c) (OpaquePointer?) -> Void).self)
        else { return false }
        let body: @Sendable () -> Void = {
            unsafe _ = acquire(context())
            unsafe run(make(nil, 0))
        }
        let start = unsafe Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        return unsafe pthread_create(
            &thread,
            nil,
            { data in
                if let data = unsafe data { unsafe Unmanaged<Start>.fromOpaque(data).takeRetainedValue().body() }
                return nil
            },
            start.toOpaque()
        ) == 0
    }()

    private typealias Make = @convention(c) (OpaquePointer?, CInt) -> OpaquePointer?

    private final class Start: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}
