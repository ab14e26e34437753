// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A value that several tasks of a test change.
package final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    package init(_ value: Value) {
        state = Mutex(value)
    }

    package var value: Value { state.withLock { $0 } }

    @discardableResult
    package func withLock<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        state.withLock { value in change(&value) }
    }
}
