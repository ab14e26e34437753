// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
package import IdentityClient
import Synchronization

/// A private connection to a message bus. Losing it never ends the program.
package final class BusConnection: Sendable {
    /// A signal that came in.
    package struct Signal: Sendable {
        package let path: String
        package let interface: String
        package let member: String
        package let parameters: Variant
    }

    /// What a subscription is ended with.
    package final class Subscription: Sendable {
        /// Set on the thread, before anything there can ask for it.
        fileprivate let end = Mutex<@Sendable () -> Void>({})
    }

    package let thread: GLibThread
    /// What GLib knows the connection as; for use on the thread.
    package let handle: GLibPointer

    private init(_ handle: GLibPointer, on thread: GLibThread) {
        self.handle = handle
        self.thread = thread
    }

    deinit {
        let handle = handle
        thread.perform { unsafe cgio_connection_end(handle.pointer) }
    }

    /// Connects to the bus at `address`, in the words of D-Bus.
    /// - Returns: The connection, or a `GLibFailure`, in a while.
    package static func connect(to address: String, on thread: GLibThread) -> Promise<BusConnection> {
        thread.begin { reply in
            let (called, data) = unsafe completion { completed in
                reply.finish(
                    unsafe completed.flatMap { value in
                        guard let value = unsafe value else { return .failure(.nothing) }
                        return unsafe .success(BusConnection(GLibPointer(value), on: thread))
                    }.mapError { $0 }
                )
            }
            unsafe cgio_connect(address, called, data)
        }
    }

    /// Calls a method. GLib gives up after `timeout`; a cancelled task stops waiting, and the call goes on.
    ///
    /// - Parameters:
    ///   - arguments: A tuple in GVariant's text form, made of constants and of paths that ``isPath(_:)`` accepts.
    ///   - secret: What stands where the arguments say `%@(oayays)`.
    ///   - descriptor: What `handle 0` stands for in the arguments.
    ///   - type: The type that the reply must have.
    ///   - startsService: Whether the bus may start the destination for this call, where it does not run.
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
        let (handle, milliseconds) = (handle, timeout.wholeMilliseconds)
        return try await thread.reply { reply in
            let (called, data) = unsafe completion { completed in
                reply.finish(
                    unsafe completed.flatMap { value in
                        guard let value = unsafe value else { return .failure(.nothing) }
                        return unsafe .success(Variant(owning: value))
                    }.mapError { $0 }
                )
            }
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
                milliseconds,
                called,
                data
            )
        }
    }

    /// Has `received` called, on the thread, for the signals of a sender until `unsubscribe` or the connection's end.
    /// - Returns: What to unsubscribe with. The subscription stands before any later call is sent.
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

    /// Ends a subscription, in a while.
    package func unsubscribe(_ subscription: Subscription) {
        thread.perform {
            let end = subscription.end.withLock { $0 }
            end()
        }
    }

    /// Has `closed` called, on the thread, when the connection has ended.
    /// - Returns: What to unsubscribe with, where that is not waited for any more.
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

    /// Whether a text is the path of an object, and thus safe in arguments.
    package static func isPath(_ text: String) -> Bool {
        unsafe cgio_is_object_path(text)
    }

    /// Any text as a string in arguments.
    package static func quoted(_ text: String) -> String {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ":", ".": quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            }
        }
        return quoted + "'"
    }
}

extension GLibFailure {
    /// A success without a value; GLib promises that there is none.
    static let nothing = GLibFailure(domain: "identity-client", code: 0, name: nil, message: "GLib answered nothing.")
}

extension Duration {
    /// As GLib wants it: at least 1.
    package var wholeMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return max(1, Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000))
    }
}
