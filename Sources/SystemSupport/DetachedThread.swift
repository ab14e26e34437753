// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// A thread for blocking calls, without a join.
package enum DetachedThread {
    private final class Start {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// - Parameter stackBytes: The size of its stack; 0, the default, is the system's.
    package static func start(stackBytes: Int = 0, _ body: @escaping @Sendable () -> Void) throws {
        let start = unsafe Unmanaged.passRetained(Start(body))
        // The program's signals are for the program's threads; a thread inherits the mask of its creator. A SIGPIPE from
        // a TLS library that writes without MSG_NOSIGNAL stays pending there instead of ending the program.
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        if stackBytes > 0 { unsafe pthread_attr_setstacksize(&attributes, stackBytes) }
        let status = unsafe pthread_create(
            &thread,
            &attributes,
            { pointer in
                guard let pointer = unsafe pointer else { return nil }
                let start = unsafe Unmanaged<Start>.fromOpaque(pointer).takeRetainedValue()
                start.body()
                return nil
            },
            start.toOpaque()
        )
        unsafe pthread_attr_destroy(&attributes)
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        guard status == 0 else {
            unsafe start.release()
            throw SystemCallError("pthread_create", "/", number: status)
        }
        pthread_detach(thread)
    }
}
