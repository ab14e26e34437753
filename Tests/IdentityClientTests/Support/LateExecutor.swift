// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import Synchronization

/// Runs the steps of a task when a test says so.
final class LateExecutor: TaskExecutor {
    private let state = Mutex((jobs: [UnownedJob](), isOpen: false))

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isOpen = state.withLock { state in
            if !state.isOpen { state.jobs.append(job) }
            return state.isOpen
        }
        if isOpen { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Runs the waiting steps.
    /// - Parameter opens: Whether all later ones run at once.
    func runWaiting(andAllToCome opens: Bool = false) {
        let jobs = state.withLock { state in
            defer { state = ([], state.isOpen || opens) }
            return state.jobs
        }
        for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
