// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import OAuthWire
import Testing

@testable import identityctl

/// Each option about the provider reaches the agent, or is refused: none is dropped. The way to an API is the command's own.
@Suite struct AgentOptionsTests {
    /// The options that a command has, from its help.
    private static let options: [String] = {
        struct Command: ParsableCommand {
            @OptionGroup var provider: ProviderOptions
        }
        let rows = Command.helpMessage(columns: 400).split(separator: "\n").map { $0.drop { $0 == " " } }
        let names = rows.filter { $0.hasPrefix("--") }.map { String($0.prefix { !$0.isWhitespace }) }
        return names.filter { !["--help", "--version"].contains($0) }
    }()

    private static func request(_ arguments: [String]) throws -> JSONObject {
        let environment = Variables([:])
        let wanted = try WantedToken(
            TokenOptions.parse([]),
            AccountOption.parse([]),
            SilentOptions.parse([]),
            environment
        )
        let socket = Given(text: "/s", origin: "IDENTITYCTL_AGENT")
        let token = try AgentRequest.Token(ProviderOptions.parse(arguments), wanted, environment, for: "test", socket)
        return try JSONObject(parsing: AgentRequest.token(token).line)
    }

    @Test func knowsTheOptions() {
        #expect(Self.options.count >= 17 && Self.options.contains("--token-parameter"), "\(Self.options)")
    }

    @Test(arguments: options) func sendsOrRefuses(option: String) throws {
        let isSwitch = Setting.ofProvider.contains { $0.option == option && $0.kind == .switch }
        let arguments = [option] + (isSwitch ? [] : ["name=value"])
        let sent = ["--client-id": "client_id", "--issuer": "issuer", "--authority": "issuer", "--profile": "account"]
        if let member = sent[option] {
            #expect(try Self.request(arguments).string(member) == "name=value")
        } else if ["--ca-file", "--proxy"].contains(option) {
            #expect(throws: Never.self) { try Self.request(arguments) }
        } else {
            let error = #expect(throws: UsageError.self) { try Self.request(arguments) }
            #expect(error?.message.hasPrefix("\(option): IDENTITYCTL_AGENT is set") == true)
        }
    }
}
