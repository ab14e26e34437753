// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import CGIO
package import SystemSupport

/// A pointer from GLib, for use on the GLib thread.
// Reviewed exception: the pointer never changes, and only code on the GLib thread uses it.
@safe package final class GLibPointer: @unchecked Sendable {
    package let pointer: UnsafeMutableRawPointer

    package init(_ pointer: UnsafeMutableRawPointer) {
        unsafe self.pointer = pointer
    }
}

/// A box that hands a Swift closure to C, which calls it once or many times and then releases it.
package final class CallbackBox<Argument>: Sendable {
    package let body: @Sendable (Argument) -> Void

    package init(_ body: @escaping @Sendable (Argument) -> Void) {
        self.body = body
    }

    /// Returns a retained pointer for C to keep.
    package func retained() -> UnsafeMutableRawPointer {
        unsafe Unmanaged.passRetained(self).toOpaque()
    }

    /// Returns the box of a pointer that C still keeps.
    package static func borrowed(_ data: UnsafeMutableRawPointer) -> CallbackBox {
        unsafe Unmanaged<CallbackBox>.fromOpaque(data).takeUnretainedValue()
    }

    /// Returns the box of a pointer that C has given back.
    package static func taken(_ data: UnsafeMutableRawPointer) -> CallbackBox {
        unsafe Unmanaged<CallbackBox>.fromOpaque(data).takeRetainedValue()
    }
}

/// The result of a C completion: a value owned by the receiver, nothing, or a failure.
private typealias Completed = Result<UnsafeMutableRawPointer?, GLibFailure>

/// Turns a reply into the two arguments of a completion.
///
/// - Parameters:
///   - missing: The failure if the completion brings nothing.
///   - make: Makes the reply of the value that the completion brings, and owns it.
package func completion<Value: Sendable>(
    of reply: Promise<Value>,
    else missing: GLibFailure = .nothing,
    _ make: @escaping @Sendable (UnsafeMutableRawPointer) -> Value
) -> (cgio_completion, UnsafeMutableRawPointer) {
    let box = unsafe CallbackBox<Completed> { completed in
        reply.finish(
            unsafe completed.flatMap { value in
                guard let value = unsafe value else { return .failure(missing) }
                return unsafe .success(make(value))
            }.mapError { $0 }
        )
    }
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
