// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit

/// The details of one person.
@MainContext
final class PersonPage {
    let widget: Widget
    private let avatar = Avatar("", size: 96)
    private let name = Label().styled("title-1").aligned(horizontally: .center)
    private let list = ListBox(.boxed, name: tr("Details"))

    init() {
        let column = Box.column(spacing: 18, avatar, name, list).margin(horizontal: 18, vertical: 32)
        widget = ScrolledView(Clamp(column, width: 480))
    }

    func show(_ person: Person) {
        avatar.show(person.title)
        name.text = person.title
        list.removeAll()
        for (title, value) in Self.lines(person) {
            let copy = Button(icon: "edit-copy-symbolic", hint: tr("Copy {0}", value)) { [weak self] in
                self?.copy(value)
            }
            let row = Row(title: title, subtitle: value, isActivatable: true)
            row.add(copy.styled("flat").aligned(vertically: .center))
            list.append(row.onActivation { [weak self] in self?.copy(value) })
        }
    }

    /// Returns the known details as one text, for a screen reader.
    static func text(of person: Person) -> String {
        lines(person).map { "\($0.title): \($0.value)." }.joined(separator: " ")
    }

    private func copy(_ value: String) {
        Desktop.copy(value)
        widget.announce(tr("Copied"))
    }

    /// Returns the known details; properties that Graph left out are missing.
    static func lines(_ person: Person) -> [(title: String, value: String)] {
        var lines: [(String, String?)] = [
            (tr("User principal name"), person.userPrincipalName),
            (tr("Name"), person.displayName),
            (tr("Mail"), person.mail),
        ]
        for phone in person.businessPhones ?? [] { lines.append((tr("Business phone"), phone)) }
        lines.append((tr("Mobile phone"), person.mobilePhone))
        return lines.compactMap { title, value in
            guard let value, !value.isEmpty else { return nil }
            return (title, value)
        }
    }
}
