// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import Foundation

/// GLib's main loop on a thread of its own, as a program has it on its first: what `@MainContext` needs to run.
public enum MainLoop {
    private static let started: Void = {
        Thread.detachNewThread {
            g_main_context_acquire(g_main_context_default())
            g_main_loop_run(g_main_loop_new(nil, 0))
        }
    }()

    /// Starts it, unless it runs already. It runs until the process ends.
    public static func start() { started }
}
