// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityTesting

/// The main job, shown.
struct DemoCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Shows a sign-in from beginning to end, with a provider of its own on this computer.",
        discussion: """
            Nothing needs to be set up, nothing leaves this computer, and nothing stays behind. Where there is no browser, \
            a scripted one takes its place.
            """
    )

    @Flag(help: "Let a scripted browser sign in, even if there is a real one.")
    var headless = false

    @OptionGroup var browser: BrowserOption
    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let environment = session.environment
        let command = try browser.command(environment)
        let way = command == nil ? InteractionEnvironment.current().recommendation.method : .browser
        let isHeadless = try environment.isOn("headless", headless) || way != .browser
        let directory = try TemporaryDirectory()
        defer { directory.remove() }
        let stage = try DemoStage(
            session: session,
            cacheDirectory: directory.path,
            browserCommand: command,
            isHeadless: isHeadless
        )
        defer { stage.provider.close() }
        try await stage.play()
    }
}
