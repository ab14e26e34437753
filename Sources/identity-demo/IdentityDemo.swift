// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Dispatch
import Foundation
import IdentityClient
import IdentityTesting

/// Shows a sign-in from beginning to end. `Scripts/demo` builds and runs it.
@main
struct IdentityDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity-demo",
        abstract: "Shows a sign-in from beginning to end, with a provider of its own on this computer.",
        discussion: """
            Nothing needs to be set up, nothing leaves this computer, and nothing stays behind. If there is no browser, \
            a scripted browser takes its place.
            """
    )

    @Flag(help: "Let a scripted browser sign in, even if there is a real one.")
    var headless = false

    @Option(
        help: ArgumentHelp("Run this with the address as its last argument, without a shell.", valueName: "command")
    )
    var browser: String?

    private var browserCommand: [String]? { browser?.split(whereSeparator: \.isWhitespace).map(String.init) }

    func validate() throws {
        if browserCommand?.isEmpty == true { throw ValidationError("The value of --browser is empty.") }
    }

    func run() async throws {
        let demonstration = Task { try await demonstrate() }
        let signals = [SIGINT, SIGTERM, SIGHUP].map { number in
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { demonstration.cancel() }
            source.resume()
            return source
        }
        defer { for source in signals { source.cancel() } }
        try await demonstration.value
    }

    private func demonstrate() async throws {
        let hasBrowser = browser != nil || InteractionEnvironment.current().recommendation.method == .browser
        let directory = try DemoDirectory()
        defer { directory.remove() }
        let demonstration = try Demonstration(
            cacheDirectory: directory.path,
            browserCommand: browserCommand,
            isHeadless: headless || !hasBrowser
        )
        defer { demonstration.provider.close() }
        try await demonstration.run()
    }
}
