// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Who resumes a continuation tells ThreadSanitizer so, in the name of the task that waits. The task hears of it when it
// is run again, but not where it was resumed before it began to wait. These stand in for the library's functions, by
// their names, and are the same but for the call that makes up for it.

@_silgen_name("acquire_what_resumed_this_task") private func acquireWhatResumedThisTask()

@_silgen_name("$ss23withCheckedContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5NeverOGXEtYalF")
func value<Value>(
    isolation: isolated (any Actor)?,
    function: String,
    _ body: (CheckedContinuation<Value, Never>) -> Void
) async -> sending Value {
    let value = await withUnsafeContinuation { body(CheckedContinuation(continuation: $0, function: function)) }
    acquireWhatResumedThisTask()
    return value
}

@_silgen_name("$ss31withCheckedThrowingContinuation9isolation8function_xScA_pSgYi_SSyScCyxs5Error_pGXEtYaKlF")
func valueOrError<Value>(
    isolation: isolated (any Actor)?,
    function: String,
    _ body: (CheckedContinuation<Value, any Error>) -> Void
) async throws -> sending Value {
    defer { acquireWhatResumedThisTask() }
    return try await withUnsafeThrowingContinuation { body(CheckedContinuation(continuation: $0, function: function)) }
}
