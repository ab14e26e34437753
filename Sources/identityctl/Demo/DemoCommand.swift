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

    @Option(
        help: ArgumentHelp("Run this with the address as its last argument, without a shell.", valueName: "command")
    )
    var browser: String?

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let environment = session.environment
        let command = try environment.given("browser", browser)?.text.split(whereSeparator: \.isWhitespace)
        let isHeadless = try environment.isOn("headless", headless) || (command == nil && environment.isRemote)
        let directory = try TemporaryDirectory()
        defer { directory.remove() }
        let stage = try DemoStage(
            session: session,
            cacheDirectory: directory.path,
            browserCommand: command?.map(String.init),
            isHeadless: isHeadless
        )
        defer { stage.provider.close() }
        try await stage.play()
    }
}
