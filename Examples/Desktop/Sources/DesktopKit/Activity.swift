// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The work of a window: one task at a time, reported if it takes long.
///
/// New work cancels the current work, whose outcome is then not reported.
@MainContext
public final class Activity {
    /// How long work may take before it is reported: 300 ms.
    public static let delay = Duration.milliseconds(300)
    /// How long work may take before the person is offered to cancel it: 2 s.
    public static let patience = Duration.seconds(2)

    private let show: @MainContext (Bool) -> Void
    private let linger: @MainContext (Bool) -> Void
    private var task: Task<Void, Never>?
    private var number = 0

    /// Creates an idle activity.
    ///
    /// - Parameters:
    ///   - show: Called with `true` when work has taken 300 ms, and with `false` when it has ended.
    ///   - linger: Called with `true` when work has taken 2 s, and with `false` when it has ended.
    public init(
        _ show: @escaping @MainContext (Bool) -> Void = { _ in },
        linger: @escaping @MainContext (Bool) -> Void = { _ in }
    ) {
        self.show = show
        self.linger = linger
    }

    isolated deinit {
        task?.cancel()
    }

    /// Whether work is in progress.
    public var isRunning: Bool { task != nil }

    /// Cancels the current work and starts new work.
    ///
    /// - Parameters:
    ///   - work: The work, which runs away from the window.
    ///   - finish: Called with the outcome, unless other work has begun or ``cancel()`` was called meanwhile.
    public func start<Value: Sendable>(
        _ work: @escaping @Sendable @MainContext () async throws -> Value,
        then finish: @escaping @MainContext (Result<Value, any Error>) -> Void
    ) {
        cancel()
        number += 1
        let mine = number
        let clock = Task { @MainContext [weak self] in
            for (wait, report) in [(Self.delay, self?.show), (Self.patience - Self.delay, self?.linger)] {
                // The sleep ends early only if the work has ended; the work is then not reported.
                guard (try? await Task.sleep(for: wait)) != nil, let self, number == mine, isRunning else { return }
                report?(true)
            }
        }
        task = Task { @MainContext [weak self] in
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
            clock.cancel()
            guard let self, number == mine, isRunning else { return }
            end()
            finish(outcome)
        }
    }

    /// Cancels the current work. Its outcome is not reported.
    public func cancel() {
        guard let task else { return }
        task.cancel()
        end()
    }

    private func end() {
        task = nil
        show(false)
        linger(false)
    }
}
