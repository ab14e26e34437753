// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// The variables by which programs find a forwarder.
@Suite struct ForwardRecipeTests {
    private let place = ForwardRecipe.Place(port: 8410, phantom: "fwd_p", path: "/v1", server: "https://api.test/v1")

    private func variables(_ recipe: ForwardRecipe, having known: [String: String] = [:]) -> [String: String] {
        let changes = recipe.variables(place, npmrc: "/run/npmrc") { known[$0] }
        return Dictionary(uniqueKeysWithValues: changes.map { ($0.name, $0.value ?? "unset") })
    }

    @Test func nameTheAddressAndThePhantom() {
        #expect(
            variables(.http)
                == ["IDENTITYCTL_FORWARD_URL": "http://127.0.0.1:8410/v1", "IDENTITYCTL_FORWARD_PHANTOM": "fwd_p"]
        )
        #expect(
            variables(.claudeCode) == [
                "ANTHROPIC_BASE_URL": "http://127.0.0.1:8410/v1", "ANTHROPIC_AUTH_TOKEN": "fwd_p",
                "ANTHROPIC_API_KEY": "unset",
            ]
        )
        #expect(
            variables(.openai) == ["OPENAI_BASE_URL": "http://127.0.0.1:8410/v1", "OPENAI_API_KEY": "fwd_p"]
        )
        #expect(variables(.pip) == ["PIP_INDEX_URL": "http://x:fwd_p@127.0.0.1:8410/v1"])
    }

    @Test func addToTheSettingsOfGit() {
        let url = "url.http://x:fwd_p@127.0.0.1:8410/v1/.insteadOf"
        #expect(
            variables(.git) == [
                "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": url, "GIT_CONFIG_VALUE_0": "https://api.test/v1/",
            ]
        )
        #expect(
            variables(.git, having: ["GIT_CONFIG_COUNT": "2"]) == [
                "GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_2": url, "GIT_CONFIG_VALUE_2": "https://api.test/v1/",
            ]
        )
    }

    @Test func giveNpmAFile() {
        #expect(variables(.npm) == ["NPM_CONFIG_USERCONFIG": "/run/npmrc"])
        #expect(
            ForwardRecipe.npmrc(place) == """
                registry=http://127.0.0.1:8410/v1/
                //127.0.0.1:8410/v1/:_authToken=fwd_p
                replace-registry-host=always

                """
        )
    }

    @Test func keepTheHostsThatNeedNoProxy() {
        #expect(ForwardRecipe.withoutProxy(beside: nil) == "127.0.0.1,::1,localhost")
        #expect(ForwardRecipe.withoutProxy(beside: ".corp") == ".corp,127.0.0.1,::1,localhost")
        #expect(ForwardRecipe.withoutProxy(beside: "*") == "*")
    }
}
