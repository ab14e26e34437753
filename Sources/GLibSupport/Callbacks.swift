// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import CGIO

/// A pointer that GLib gave out, to be used on its thread.
// Reviewed exception: the pointer never changes, and is used by the code on the GLib thread only.
@safe package final class GLibPointer: @unchecked Sendable {
    package let pointer: UnsafeMutableRawPointer

    package init(_ pointer: UnsafeMutableRawPointer) {
        unsafe self.pointer = pointer
    }
}

/// Hands a Swift closure to C, which calls it once or many times and then lets go of it.
package final class CallbackBox<Argument>: Sendable {
    package let body: @Sendable (Argument) -> Void

    package init(_ body: @escaping @Sendable (Argument) -> Void) {
        self.body = body
    }

    /// What C keeps.
    package func retained() -> UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(self).toOpaque()
    }

    /// The box, of which C keeps hold.
    package static func borrowed(_ data: UnsafeMutableRawPointer) -> CallbackBox {
        unsafe Unmanaged<CallbackBox>.fromOpaque(data).takeUnretainedValue()
    }

    /// The box, which C has given back.
    package static func taken(_ data: UnsafeMutableRawPointer) -> CallbackBox {
        unsafe Unmanaged<CallbackBox>.fromOpaque(data).takeRetainedValue()
    }
}

/// What a completion of C brings: a value that is the receiver's to keep, nothing, or a failure.
package typealias Completed = Result<UnsafeMutableRawPointer?, GLibFailure>

/// Turns a closure into the two arguments that a completion takes.
package func completion(
    _ body: @escaping @Sendable (Completed) -> Void
) -> (cgio_completion, UnsafeMutableRawPointer) {
    let box = unsafe CallbackBox<Completed>(body)
    let called: cgio_completion = { data, value, failure in
        guard let data = unsafe data else { return }
        let box = unsafe CallbackBox<Completed>.taken(data)
        if let failure = unsafe failure {
            unsafe box.body(.failure(GLibFailure(failure)))
        } else {
            unsafe box.body(.success(value))
        }
    }
    return unsafe (called, box.retained())
}
