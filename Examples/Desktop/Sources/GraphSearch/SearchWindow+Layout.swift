// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit

extension SearchWindow {
    /// Adds the widgets to the window.
    func build() {
        stack.add(
            .starting,
            Box.column(HeaderBar(), StatusPage(icon: "network-server-symbolic", title: tr("Starting…")))
        )
        stack.add(.failed, Box.column(HeaderBar(), failure))
        stack.add(.signIn, signInPane)
        stack.add(.search, leaflet)
        let bottom = signInBar.widget.margin(horizontal: 18, vertical: 12)
        window.content = Box.column(stack.expanding(vertically: true), bottom)
        field.onChange { [weak self] in self?.search?.type($0) }
        list.onActivation { [weak self] in self?.open($0) }
        scroll.onNearingEnd { [weak self] in self?.search?.readOn() }
        back.isVisible = false
        leaflet.onFold { [weak self] in
            guard let self else { return }
            back.isVisible = leaflet.isFolded
        }
    }

    private var signInPane: Widget {
        let buttons = Box.column(spacing: 12).aligned(horizontally: .center)
        for (index, source) in choices.sources.enumerated() {
            let button = Button(text(tr("_Sign In"), source.name), action: signInAction(index))
            buttons.append(button.styled("suggested-action", "pill"))
        }
        return Box.column(
            HeaderBar(),
            pageErrors,
            StatusPage(
                icon: "system-users-symbolic",
                title: tr("Find People"),
                description: tr("Sign in to search the people of your organization."),
                action: buttons
            )
        )
    }

    var searchPane: Widget {
        let header = HeaderBar()
        header.hideWindowButtons(atEnd: true)
        header.add(atStart: accountMenu)
        header.add(atEnd: spinner)
        listStack.add(.waiting, Box.column().expanding(vertically: true))
        listStack.add(.people, scroll)
        listStack.add(.nothing, nothing)
        return Box.column(
            header,
            listErrors,
            field.margin(horizontal: 12, vertical: 6),
            listStack.expanding(vertically: true)
        )
        .sized(width: 300)
    }

    var detailsPane: Widget {
        let header = HeaderBar()
        header.setTitle(Label(tr("Person")).styled("title"))
        header.add(atStart: back)
        let menu = MenuButton(icon: "open-menu-symbolic", hint: tr("Menu"), isPrimary: true)
        menu.show([[.action(tr("_Refresh"), "refresh")], MenuButton.Item.closing])
        header.add(atEnd: menu)
        let empty = StatusPage(
            icon: "system-users-symbolic",
            title: tr("No Person Chosen"),
            description: tr("Choose a person in the list.")
        )
        details.add(.empty, empty)
        details.add(.person, person.widget)
        return Box.column(header, details.expanding(vertically: true)).expanding().sized(width: 320)
    }
}
