// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import identityctl

/// What the tool says of itself.
@Suite struct RootProcessTests {
    @Test(.timeLimit(.minutes(1)), arguments: [[:], ["IDENTITYCTL_JSON": "1"]])
    func saysItsVersion(variables: [String: String]) async throws {
        let outcome = try await Tool.run(["--version"], variables)
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(outcome.output == "\(LibraryVersion.current)\n")
        #expect(LibraryVersion.current.wholeMatch(of: #/\d+\.\d+\.\d+(-dev)?/#) != nil)
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["bash", "zsh", "fish"])
    func completesWhatIsTypedInAShell(shell: String) async throws {
        let outcome = try await Tool.run(["--generate-completion-script", shell])
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        for word in ["identityctl", "login", "device-code"] { #expect(outcome.output.contains(word)) }
        #expect(!outcome.output.contains("deliver-redirect"))
    }
}
