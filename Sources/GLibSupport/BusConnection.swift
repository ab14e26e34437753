// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import Synchronization
package import SystemSupport

/// A private connection to a message bus. Losing the connection never ends the program.
package final class BusConnection: Sendable {
    /// A received signal.
    package struct Signal: Sendable {
        package let path: String
        package let interface: String
        package let member: String
        package let parameters: Variant
    }

    /// A handle that ends a subscription.
    package final class Subscription: Sendable {
        /// The action that ends the subscription. It is set on the GLib thread before anything there can call it.
        fileprivate let end = Mutex<@Sendable () -> Void>({})
    }

    package let thread: GLibThread
    /// GLib's pointer to the connection, for use on the GLib thread.
    package let handle: GLibPointer

    private init(_ handle: GLibPointer, on thread: GLibThread) {
        self.handle = handle
        self.thread = thread
    }

    deinit {
        let handle = handle
        thread.perform { unsafe cgio_connection_end(handle.pointer) }
    }

    /// Connects to the bus at `address`, a D-Bus address.
    /// - Returns: A reply that later holds the connection or a `GLibFailure`.
    package static func connect(to address: String, on thread: GLibThread) -> Promise<BusConnection> {
        thread.begin { reply in
            let (called, data) = unsafe completion(of: reply) { value in
                unsafe BusConnection(GLibPointer(value), on: thread)
            }
            unsafe cgio_connect(address, called, data)
        }
    }

    /// Calls a method. A cancelled task stops waiting, and the call goes on, as it does after `timeout`.
    ///
    /// - Parameters:
    ///   - arguments: A tuple in GVariant's text form, made of constants and of paths that ``isPath(_:)`` accepts.
    ///   - secret: The value that replaces `%@(oayays)` in the arguments.
    ///   - descriptor: The file descriptor that `handle 0` means in the arguments.
    ///   - type: The type that the reply must have.
    ///   - startsService: Whether the bus may start the destination for this call if it is not running.
    /// - Throws: `GLibFailure`, `CancellationError`.
    package func call(
        _ method: String,
        of interface: String,
        at path: String,
        in destination: String,
        _ arguments: String? = nil,
        secret: Variant? = nil,
        descriptor: Int32 = -1,
        returning type: String,
        startsService: Bool = false,
        timeout: Duration
    ) async throws -> Variant {
        let (handle, thread) = (handle, thread)
        return try await answered(within: timeout) {
            try await thread.reply { reply in
                let (called, data) = unsafe completion(of: reply) { unsafe Variant(owning: $0) }
                unsafe cgio_call(
                    handle.pointer,
                    destination,
                    path,
                    interface,
                    method,
                    arguments,
                    secret?.pointer,
                    descriptor,
                    type,
                    startsService,
                    called,
                    data
                )
            }
        }
    }

    /// Calls `received` on the GLib thread for each signal of a sender, until `unsubscribe` or the end of the
    /// connection.
    /// - Returns: The handle for `unsubscribe`. The subscription takes effect before any later call is sent.
    @discardableResult
    package func subscribe(
        to sender: String,
        interface: String? = nil,
        member: String? = nil,
        path: String? = nil,
        firstArgument: String? = nil,
        _ received: @escaping @Sendable (Signal) -> Void
    ) -> Subscription {
        let (handle, subscription) = (handle, Subscription())
        thread.perform {
            let box = CallbackBox<Signal>(received)
            let called: cgio_signal = { data, path, interface, member, parameters in
                guard let data = unsafe data, let path = unsafe path, let interface = unsafe interface,
                    let member = unsafe member, let parameters = unsafe parameters
                else { return }
                unsafe CallbackBox<Signal>.borrowed(data).body(
                    Signal(
                        path: String(cString: path),
                        interface: String(cString: interface),
                        member: String(cString: member),
                        parameters: Variant(borrowing: parameters)
                    )
                )
            }
            let release: cgio_work = { data in
                if let data = unsafe data { unsafe _ = CallbackBox<Signal>.taken(data) }
            }
            let number = unsafe cgio_subscribe(
                handle.pointer,
                sender,
                interface,
                member,
                path,
                firstArgument,
                called,
                box.retained(),
                release
            )
            subscription.end.withLock { $0 = { unsafe cgio_unsubscribe(handle.pointer, number) } }
        }
        return subscription
    }

    /// Ends a subscription, without waiting for its end.
    package func unsubscribe(_ subscription: Subscription) {
        thread.perform {
            let end = subscription.end.withLock { $0 }
            end()
        }
    }

    /// Calls `closed` on the GLib thread when the connection has ended.
    /// - Returns: The handle for `unsubscribe`, if `closed` is no longer needed.
    @discardableResult
    package func whenClosed(_ closed: @escaping @Sendable () -> Void) -> Subscription {
        let (handle, subscription) = (handle, Subscription())
        thread.perform {
            let box = CallbackBox<Void> { closed() }
            let called: cgio_work = { data in
                if let data = unsafe data { unsafe CallbackBox<Void>.borrowed(data).body(()) }
            }
            let release: cgio_work = { data in
                if let data = unsafe data { unsafe _ = CallbackBox<Void>.taken(data) }
            }
            let number = unsafe cgio_connection_when_closed(handle.pointer, called, box.retained(), release)
            subscription.end.withLock { $0 = { unsafe cgio_connection_forget_closed(handle.pointer, number) } }
        }
        return subscription
    }

    /// Returns whether a text is an object path, and so safe in arguments.
    package static func isPath(_ text: String) -> Bool {
        unsafe cgio_is_object_path(text)
    }

    /// Quotes any text as a string for use in arguments. D-Bus has no NUL in a text; U+FFFD stands for it.
    package static func quoted(_ text: String) -> String {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\0": quoted += "\\U0000fffd"
            case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ":", ".": quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return quoted + "'"
    }
}

/// Waits for an answer for at most `timeout`. GLib's own limit would also count the time in which the process stands still, and throw
/// away an answer that came meanwhile.
/// - Throws: The failure that GLib has for this, the errors of `work`, `CancellationError`.
package func answered<Value: Sendable>(
    within timeout: Duration,
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    do {
        return try await withDeadline(timeout, work)
    } catch is DeadlineExceeded {
        throw GLibFailure.timedOut
    }
}

extension GLibFailure {
    /// The failure for a success without a value. GLib promises that this does not happen.
    package static let nothing = GLibFailure(
        domain: "identity-client",
        code: 0,
        name: nil,
        message: "GLib answered nothing."
    )

    static let timedOut = GLibFailure(
        domain: "g-io-error-quark",
        code: Int(CGIO_ERROR_TIMED_OUT),
        name: nil,
        message: "No answer came in time."
    )
}

extension Duration {
    /// The duration in milliseconds, at least 1, as GLib requires.
    package var wholeMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return max(1, Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000))
    }
}
