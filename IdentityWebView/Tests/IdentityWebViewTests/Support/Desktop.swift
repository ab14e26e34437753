// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CWebKitGTK
import Foundation
import Testing

/// GTK with its main loop on its own thread. The whole process shares it.
enum Desktop {
    /// Whether `Scripts/test-webview` has prepared a display.
    static let isPrepared = ProcessInfo.processInfo.environment["IDENTITY_WEBVIEW_TESTS"] != nil

    private static let isStarted: Bool = {
        let thread = Thread {
            guard gtk_init_check() != 0 else { return }
            g_main_loop_run(g_main_loop_new(nil, 0))
        }
        thread.stackSize = 8 << 20
        thread.start()
        return true
    }()

    static func start() { _ = isStarted }
}

extension Tag {
    /// Marks tests that need a display and WebKitGTK's processes.
    @Tag static var desktop: Self
}
