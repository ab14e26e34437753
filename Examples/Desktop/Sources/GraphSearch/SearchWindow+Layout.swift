// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit

extension SearchWindow {
    /// Adds the widgets to the window.
    func build() {
        let starting = StatusPage(icon: "network-server-symbolic", title: tr("Starting…"))
        stack.add(.starting, Box.column(menuBar(), starting))
        stack.add(.failed, Box.column(menuBar(), failure.widget))
        let buttons = signInButtons
        stack.add(.signIn, signInPane(Box.column(spacing: 12, buttons)), first: buttons.first)
        stack.add(.search, leaflet)
        let bottom = signInBar.widget.margin(horizontal: 18, vertical: 12)
        window.content = Box.column(stack.expanding(vertically: true), bottom)
        field.onChange { [weak self] in self?.search?.type($0) }
        list.onActivation { [weak self] in self?.open($0) }
        scroll.onNearingEnd { [weak self] in self?.search?.readOn() }
        leaflet.onFold { [weak self] in self?.fold() }
        fold()
    }

    /// Gives each of the two panes the buttons that it needs alone, or beside the other.
    private func fold() {
        let isFolded = leaflet.isFolded
        back.isVisible = isFolded
        detailsMenu.isVisible = isFolded
        listHeader.showWindowButtons(atEnd: isFolded)
        detailsHeader.showWindowButtons(atStart: isFolded)
        // The person who was looked at stays in view.
        if isFolded, details.shown == .person { leaflet.showDetails() }
    }

    /// Returns a header bar with the primary menu, which F10 opens.
    private func menuBar() -> HeaderBar {
        let header = HeaderBar()
        header.add(atEnd: primaryMenu())
        return header
    }

    /// Returns the primary menu. Each page has its own, because a widget is in one place.
    func primaryMenu() -> MenuButton {
        let menu = MenuButton(icon: "open-menu-symbolic", hint: tr("Menu"), isPrimary: true)
        menu.show([[.action(tr("_Refresh"), "refresh")], MenuButton.Item.closing])
        return menu
    }

    private var signInButtons: [Button] {
        choices.sources.enumerated().map { index, source in
            Button(text(tr("_Sign In"), source.name), action: signInAction(index)).styled("suggested-action", "pill")
        }
    }

    private func signInPane(_ buttons: Widget) -> Widget {
        Box.column(
            menuBar(),
            pageErrors,
            StatusPage(
                icon: "system-users-symbolic",
                title: tr("Find People"),
                description: tr("Sign in to search the people of your organization."),
                action: buttons.aligned(horizontally: .center)
            )
        )
    }

    var searchPane: Widget {
        let title = Label(tr("People")).inHeader().styled("title")
        listHeader.setTitle(Box.column(title, person).aligned(vertically: .center))
        listHeader.add(atStart: accountMenu)
        listHeader.add(atEnd: primaryMenu())
        listHeader.add(atEnd: spinner)
        listStack.add(.waiting, Box.column().expanding(vertically: true))
        listStack.add(.people, scroll)
        listStack.add(.nothing, nothing)
        return Box.column(
            listHeader,
            listErrors,
            field.margin(horizontal: 12, vertical: 6),
            listStack.expanding(vertically: true)
        )
        .sized(width: 300)
    }

    var detailsPane: Widget {
        detailsHeader.setTitle(Label(tr("Person")).inHeader().styled("title"))
        detailsHeader.add(atStart: back)
        detailsHeader.add(atEnd: detailsMenu)
        let empty = StatusPage(
            icon: "system-users-symbolic",
            title: tr("No Person Chosen"),
            description: tr("Choose a person in the list.")
        )
        details.add(.empty, empty)
        details.add(.person, personPage.widget)
        return Box.column(detailsHeader, details.expanding(vertically: true)).expanding().sized(width: 320)
    }
}
