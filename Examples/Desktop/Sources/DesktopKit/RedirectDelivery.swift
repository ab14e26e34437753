// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import FoundationEssentials
import IdentityClient

/// The delivery of a custom-scheme redirect, with which the desktop started the program, to the process that waits for
/// it.
@MainContext
final class RedirectDelivery {
    private unowned let application: Application
    /// The exit status.
    private(set) var status: Int32 = 0

    init(_ application: Application) {
        self.application = application
    }

    /// Handles every address that the application is asked to open.
    func connect() {
        kit_connect_open(application.pointer, Unmanaged.passUnretained(self).toOpaque()) { data, address in
            guard let data, let address else { return }
            let delivery = Unmanaged<RedirectDelivery>.fromOpaque(data)
            let text = String(cString: address)
            MainContext.assumeIsolated { delivery.takeUnretainedValue().deliver(text) }
        }
    }

    private func deliver(_ address: String) {
        // Without a window, the main loop runs only while the application is held.
        g_application_hold(cast(application.pointer))
        Task { @MainContext in
            do {
                guard let url = URL(string: address), try await CustomSchemeRedirectReceiver.deliver(url) else {
                    throw WordedError(.stateMismatch, tr("No program waits for this sign-in. Start it again."))
                }
            } catch {
                status = 1
                if let problem = Problem(error) { tell(problem) }
            }
            g_application_release(cast(application.pointer))
        }
    }

    /// Shows the problem in a window, because a person who has just come from the browser sees no terminal.
    private func tell(_ problem: Problem) {
        Desktop.tell(tr("Not signed in"), problem.text, in: application)
    }
}
