// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that several tasks of a test change.
final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) {
        state = Mutex(value)
    }

    var value: Value { state.withLock { $0 } }

    @discardableResult
    func withLock<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        state.withLock { value in change(&value) }
    }
}
