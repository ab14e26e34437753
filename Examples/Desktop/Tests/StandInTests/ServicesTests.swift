// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
import Testing

@testable import StandIn

@Suite struct ServicesTests {
    @Test(arguments: [("localhost:4000", 200), ("127.0.0.1:4000", 200), ("evil.example:4000", 400), ("localhost", 400)])
    func isThereForThisMachineAlone(host: String, status: Int) async throws {
        let services = Services(entra: try Providers.entra(), b2c: try Providers.b2c(), faults: StandIn.Faults())
        let addresses =
            #"{"root":"http://127.0.0.1:4000","authority":"http://localhost:1/t/","b2cTenant":"http://localhost:2/t/"}"#
        let known = try JSONDecoder().decode(StandIn.Addresses.self, from: Data(addresses.utf8))
        services.addresses.withLock { $0 = known }
        let request = HTTPRequest(
            method: .GET,
            version: .http11,
            path: "/stand-in",
            query: [],
            headers: [.host: host],
            body: Data()
        )
        #expect(await services.answer(request).statusCode.code == status)
    }

    @Test func hasFiveHundredPeopleWithNamesOfAllKinds() {
        let people = DirectoryPerson.all
        #expect(Set(people.map(\.id)).count == 500 && Set(people.map(\.userPrincipalName)).count == 500)
        #expect(people.contains { $0.givenName.contains("'") } && people.contains { $0.surname.contains("'") })
        #expect(people.contains { !$0.givenName.utf8.allSatisfy { $0 < 0x80 } })
        #expect(people.contains { $0.mail == nil } && people.contains { $0.mobilePhone == nil })
    }
}
