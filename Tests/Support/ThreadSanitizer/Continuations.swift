// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Resuming a continuation signals ThreadSanitizer on behalf of the waiting task. The task receives the signal when it runs
// again, but not if it was resumed before it began to wait. These functions replace the library's by their names. They
// differ only in a call that makes up for the missing signal.

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
