// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import Foundation

/// GLib's main loop on its own thread, which `@MainContext` needs in tests. A program runs it on its first thread.
public enum MainLoop {
    private static let started: Void = {
        Thread.detachNewThread {
            g_main_context_acquire(g_main_context_default())
            g_main_loop_run(g_main_loop_new(nil, 0))
        }
    }()

    /// Starts the loop if it is not running. It runs until the process ends.
    public static func start() { started }
}
