// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit

extension QuickStartWindow {
    /// Adds the widgets to the window.
    func build() {
        let header = HeaderBar()
        let menu = MenuButton(icon: "open-menu-symbolic", hint: tr("Menu"), isPrimary: true)
        menu.show([[.action(tr("_Clear the Log"), "clear")], MenuButton.Item.closing])
        header.add(atEnd: menu)
        header.add(atEnd: spinner)

        stack.add(.starting, StatusPage(icon: "network-server-symbolic", title: tr("Starting…")))
        let call = Button(tr("_Call Microsoft Graph"), action: "call").styled("suggested-action")
        stack.add(.ready, ready(call), first: call)
        stack.add(.choosing, choosing)
        stack.add(.failed, failure.widget)
        window.content = Box.column(header, stack.expanding(vertically: true))
    }

    private var choosing: Widget {
        StatusPage(
            icon: "system-users-symbolic",
            title: tr("Choose an Account"),
            description: tr("Several people are signed in here. Who is at this computer now?"),
            action: Clamp(people.margin(horizontal: 18), width: 420)
        )
    }

    private func ready(_ call: Button) -> Widget {
        let person = Box.row(
            spacing: 12,
            avatar,
            Box.column(spacing: 2, name, username).expanding().aligned(vertically: .center)
        )
        let buttons = FlowBox(
            spacing: 12,
            call,
            Button(tr("_Sign Out"), action: "sign-out"),
            Button(tr("_Device Info"), action: "device")
        )
        let content = Box.column(
            spacing: 18,
            person,
            buttons,
            signInBar.widget,
            logView.sized(height: 160)
        )
        return Box.column(
            errors,
            ScrolledView(Clamp(content.margin(horizontal: 18, vertical: 18), width: 720))
        )
    }
}
