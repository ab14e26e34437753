// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import Testing

@Suite struct PageChoiceTests {
    private func configuration(_ page: PageChoice) throws -> ClientConfiguration {
        var configuration = ClientConfiguration(
            clientID: "abc",
            authority: try .entra(.common),
            cache: InMemoryTokenCache()
        )
        configuration.show(page)
        return configuration
    }

    @Test func leavesThePageToTheBrowserUnlessTold() throws {
        #expect(try ProgramOptions.parse([]).page == .browser)
        #expect(try ProgramOptions.parse(["--page", "embedded"]).page == .embedded)
        #expect(try configuration(.browser).browser is SystemBrowserLauncher)
    }

    @Test func hasTheWindowTakeTheRedirectItself() throws {
        let configuration = try configuration(.embedded)
        #expect(configuration.browser as AnyObject === configuration.redirectReceiver as AnyObject)
        #expect(configuration.redirectReceiver.responseModes == [.query])
    }

    @Test func showsTheLibrarysPageWhereNothingIsTranslated() {
        var texts = RedirectPage.Texts.translated
        #expect(texts.ended.hasPrefix("{application} no longer waits"))
        texts.ended = RedirectPage.Texts().ended
        #expect(texts == RedirectPage.Texts())
    }
}
