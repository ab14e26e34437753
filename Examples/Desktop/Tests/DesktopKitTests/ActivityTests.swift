// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ActivityTests {
    init() { MainLoop.start() }

    /// A point at which work waits until the test lets it go on.
    private final class Door: Sendable {
        let (stream, continuation) = AsyncStream<Void>.makeStream()

        func open() { continuation.finish() }
        func wait() async throws {
            for await _ in stream {}
            try Task.checkCancellation()
        }
    }

    @Test @MainContext func tellsTheOutcome() async {
        let activity = Activity()
        let outcome = await withCheckedContinuation { continuation in
            activity.start {
                42
            } then: {
                continuation.resume(returning: $0)
            }
        }
        #expect((try? outcome.get()) == 42)
        #expect(!activity.isRunning)
    }

    @Test @MainContext func showsOnlyWhatTakesLong() async throws {
        let shown = Mutex<[Bool]>([])
        let door = Door()
        let (busy, isBusy) = AsyncStream<Void>.makeStream()
        let activity = Activity { value in
            shown.withLock { $0.append(value) }
            if value { isBusy.finish() }
        }
        await withCheckedContinuation { continuation in
            activity.start {
            } then: { _ in
                continuation.resume()
            }
        }
        #expect(!shown.withLock { $0 }.contains(true))
        await withCheckedContinuation { continuation in
            activity.start {
                try await door.wait()
            } then: { _ in
                continuation.resume()
            }
            Task {
                for await _ in busy {}
                door.open()
            }
        }
        #expect(shown.withLock { $0 }.suffix(2) == [true, false])
    }

    @Test @MainContext func newWorkEndsTheOld() async throws {
        let told = Mutex<[String]>([])
        let door = Door()
        let activity = Activity()
        let (cancelled, wasCancelled) = AsyncStream<Void>.makeStream()
        activity.start {
            do { try await door.wait() } catch { wasCancelled.finish() }
            return "old"
        } then: { outcome in
            told.withLock { $0.append((try? outcome.get()) ?? "?") }
        }
        await withCheckedContinuation { continuation in
            activity.start {
                "new"
            } then: { outcome in
                told.withLock { $0.append((try? outcome.get()) ?? "?") }
                continuation.resume()
            }
        }
        for await _ in cancelled {}
        await Task.yield()
        #expect(told.withLock { $0 } == ["new"])
    }

    @Test @MainContext func cancellingTellsNothing() async {
        let told = Mutex(0)
        let (cancelled, wasCancelled) = AsyncStream<Void>.makeStream()
        let door = Door()
        let activity = Activity()
        activity.start {
            do { try await door.wait() } catch { wasCancelled.finish() }
        } then: { _ in
            told.withLock { $0 += 1 }
        }
        activity.cancel()
        for await _ in cancelled {}
        await Task.yield()
        #expect(!activity.isRunning)
        #expect(told.withLock { $0 } == 0)
    }
}
