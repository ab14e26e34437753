// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import IdentityClient
import Synchronization

/// The progress of an upload or a download.
///
/// ```swift
/// for await progress in transfer.progress {
///     bar.fraction = progress.fraction ?? 0
/// }
/// ```
public struct TransferProgress: Hashable, Sendable {
    /// The transferred bytes of the body so far.
    public let completedBytes: Int64

    /// The size of the body in bytes; `nil` if the server did not say.
    public let totalBytes: Int64?

    /// The transferred fraction, from 0 to 1; `nil` if the size is unknown.
    public var fraction: Double? {
        totalBytes.map { $0 > 0 ? min(1, Double(completedBytes) / Double($0)) : 1 }
    }

    /// Creates a progress value, for a program's tests.
    public init(completedBytes: Int64, totalBytes: Int64?) {
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
    }
}

/// An upload or a download under way. Dropping it cancels it.
///
/// ```swift
/// let transfer = client.download(request, to: path)
/// for await progress in transfer.progress { show(progress.fraction) }
/// let (response, body) = try await transfer.value
/// ```
public final class ResourceTransfer: Sendable {
    /// The progress: at most twenty times a second, always the newest value, and the last value if the transfer
    /// succeeds. The sequence ends with the transfer. It supports one loop, and it need not be read.
    public let progress: AsyncStream<TransferProgress>

    private let task: Task<(HTTPResponse, [UInt8]), any Error>

    init(_ work: @escaping @Sendable (ProgressMeter) async throws -> (HTTPResponse, [UInt8])) {
        let meter = ProgressMeter()
        progress = meter.progress
        task = Task {
            defer { meter.end() }
            return try await work(meter)
        }
    }

    deinit {
        task.cancel()
    }

    /// The answer, once the transfer has ended. Cancelling a task that waits for it cancels the transfer.
    ///
    /// - Throws: The errors of the method that started the transfer; `CancellationError`.
    public var value: (response: HTTPResponse, body: [UInt8]) {
        get async throws {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Cancels the transfer. ``value`` then throws `CancellationError`, unless the transfer had ended.
    public func cancel() {
        task.cancel()
    }
}

/// A meter that counts the bytes of one transfer and reports them at intervals.
final class ProgressMeter: Sendable {
    private struct State {
        var completed: Int64 = 0
        var total: Int64?
        var lastTold: ContinuousClock.Instant?
        var isDue = false
    }

    let progress: AsyncStream<TransferProgress>
    private let continuation: AsyncStream<TransferProgress>.Continuation
    private let state = Mutex(State())
    private static let pause = Duration.milliseconds(50)

    init() {
        (progress, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Starts to count from zero, possibly again.
    func begin(total: Int64?) {
        state.withLock { $0 = State(total: total) }
        tell(force: true)
    }

    func add(_ count: Int) {
        let isComplete = state.withLock { state in
            state.completed += Int64(count)
            return state.completed == state.total
        }
        tell(force: isComplete)
    }

    /// Marks the transfer as complete: if the total was unknown, it is now known.
    func finish() {
        state.withLock { $0.total = $0.completed }
        tell(force: true)
    }

    func end() {
        continuation.finish()
    }

    private func tell(force: Bool) {
        state.withLock { state in
            let now = ContinuousClock.now
            if !force, let last = state.lastTold, now - last < Self.pause {
                guard !state.isDue else { return }
                state.isDue = true
                // Report the newest value even if no more data moves.
                Task {
                    try? await Task.sleep(for: Self.pause)
                    self.tell(force: true)
                }
                return
            }
            state.isDue = false
            state.lastTold = now
            continuation.yield(TransferProgress(completedBytes: state.completed, totalBytes: state.total))
        }
    }
}
