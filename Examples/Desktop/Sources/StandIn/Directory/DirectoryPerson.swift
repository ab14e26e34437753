// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting

/// A person in the organization, in the form that Graph returns.
struct DirectoryPerson: Hashable, Sendable, Encodable {
    var id: String
    var displayName: String
    var givenName: String
    var surname: String
    var userPrincipalName: String
    var mail: String?
    var businessPhones: [String]
    var mobilePhone: String?
    var jobTitle: String?

    /// Five hundred people, always the same and in the order of the listing.
    static let all: [DirectoryPerson] = known + generated(500 - known.count)

    /// The account with which this person signs in. All people except Bob have the same password.
    var account: TestIdentityProvider.Person {
        if id == TestIdentityProvider.Person.bob.objectID { return .bob }
        return TestIdentityProvider.Person(
            username: userPrincipalName,
            password: TestIdentityProvider.Person.alice.password,
            name: displayName,
            subject: "subject-\(id)",
            objectID: id
        )
    }

    private static let known: [DirectoryPerson] = [
        DirectoryPerson(
            id: TestIdentityProvider.Person.alice.objectID,
            given: "Alice",
            surname: "Example",
            number: 0,
            name: "alice"
        ),
        DirectoryPerson(
            id: TestIdentityProvider.Person.bob.objectID,
            given: "Bob",
            surname: "Example",
            number: 1,
            name: "bob"
        ),
        DirectoryPerson(given: "Máire", surname: "O'Neill", number: 2, name: "maire"),
        DirectoryPerson(given: "さくら", surname: "佐藤", number: 3, name: "sakura"),
    ]

    private static func generated(_ count: Int) -> [DirectoryPerson] {
        (0..<count).map { index in
            let given = Names.given[index % Names.given.count]
            let surname = Names.surnames[(index / Names.given.count + index * 7) % Names.surnames.count]
            return DirectoryPerson(given: given, surname: surname, number: index + known.count)
        }
    }

    private init(id: String? = nil, given: String, surname: String, number: Int, name: String? = nil) {
        let digits = String(number)
        let name = name ?? "person" + String(repeating: "0", count: 3 - digits.count) + digits
        self.id = id ?? "dddddddd-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        displayName = "\(given) \(surname)"
        givenName = given
        self.surname = surname
        userPrincipalName = name + "@example.test"
        mail = number % 11 == 10 ? nil : userPrincipalName
        businessPhones = number % 5 == 4 ? [] : ["+1 425 555 \(1000 + number)"]
        mobilePhone = number % 3 == 2 ? nil : "+353 85 555 \(1000 + number)"
        jobTitle = number % 4 == 3 ? nil : Names.titles[number % Names.titles.count]
    }
}
