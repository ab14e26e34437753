// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita

/// Casts a pointer to another type of the same object. GObject's types inherit; the imported types do not.
func cast<From, To>(_ pointer: UnsafeMutablePointer<From>) -> UnsafeMutablePointer<To> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: To.self)
}

/// Releases an object that is not a widget.
func release(_ object: OpaquePointer?) {
    if let object { g_object_unref(UnsafeMutableRawPointer(object)) }
}

/// Calls `handler` for a signal as long as the object lives. Objects and handlers that reference each other are never
/// freed, so handlers refer to their owner weakly.
@MainContext
func connect(_ object: UnsafeMutableRawPointer?, _ signal: String, _ handler: @escaping @MainContext () -> Void) {
    _ = kit_connect(
        object,
        signal,
        Unmanaged.passRetained(Handler(handler)).toOpaque(),
        { data in
            guard let data else { return }
            let handler = Unmanaged<Handler<Void>>.fromOpaque(data).takeUnretainedValue()
            MainContext.assumeIsolated { handler.call() }
        },
        { data in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } }
    )
}

/// Calls `handler` for a signal whose handler returns whether it has handled the signal.
@MainContext
func connectAnswering(
    _ object: UnsafeMutableRawPointer?,
    _ signal: String,
    _ handler: @escaping @MainContext () -> Bool
) {
    _ = kit_connect_answering(
        object,
        signal,
        Unmanaged.passRetained(Handler(handler)).toOpaque(),
        { data in
            guard let data else { return 0 }
            let handler = Unmanaged<Handler<Bool>>.fromOpaque(data).takeUnretainedValue()
            return MainContext.assumeIsolated { handler.call() } ? 1 : 0
        },
        { data in if let data { Unmanaged<AnyObject>.fromOpaque(data).release() } }
    )
}

private final class Handler<Answer>: Sendable {
    let call: @MainContext () -> Answer

    init(_ call: @escaping @MainContext () -> Answer) {
        self.call = call
    }
}
