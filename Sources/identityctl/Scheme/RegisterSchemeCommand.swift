// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient

/// The command that makes the desktop bring redirects by custom scheme to the waiting program.
struct RegisterSchemeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "register-scheme",
        abstract: "Makes the desktop pass addresses with a scheme to the program that waits for them.",
        discussion: """
            For redirect addresses such as msauth.com.example.app://auth, if a provider accepts no loopback address. Only \
            your own desktop is changed.
            """
    )

    @Argument(help: "The scheme, for example com.example.app.")
    var scheme: String

    @Flag(help: "Remove the scheme again.")
    var remove = false

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let registration = SchemeRegistration(
            scheme: try CustomScheme(scheme),
            directories: try SchemeRegistration.Directories(session.environment)
        )
        if remove {
            let wasThere = try await registration.remove()
            return try session.done(
                wasThere
                    ? "\(registration.scheme): is no longer handled." : "\(registration.scheme): was not registered."
            )
        }
        let hasChosen = try await registration.install()
        try session.done("\(registration.scheme): addresses go to the program that waits for them.")
        if !hasChosen {
            session.console.line(
                """
                Note: xdg-mime (package xdg-utils) is not here, or failed. Another program for the same scheme may be asked \
                first.
                """
            )
        }
    }
}

/// The command that the desktop starts for an address.
struct DeliverRedirectCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliver-redirect",
        abstract: "Passes an address to the program that waits for it.",
        shouldDisplay: false
    )

    @Argument var address: String

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        guard let url = URL(string: address) else { throw UsageError("This is not an address.") }
        guard try await CustomSchemeRedirectReceiver.deliver(url) else {
            throw AuthenticationError(
                .stateMismatch,
                "No program waits for this address: the sign-in was finished, given up, or too long ago. Start it again."
            )
        }
    }
}
