// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

/// Options for the way a person signs in.
struct SignInOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The address to which the browser returns. If it has a port, no other port is used.",
            discussion: "Spelled as registered. Unless given, http://localhost at Microsoft's providers and "
                + "http://127.0.0.1 at others. A custom scheme needs 'register-scheme', or --manual.",
            valueName: "uri"
        )
    )
    var redirectURI: String?

    @Option(help: ArgumentHelp("Take the first free port of a registered range.", valueName: "first-last"))
    var redirectPorts: String?

    @Option(
        help: ArgumentHelp(
            "How the answer arrives: query or form_post.",
            discussion:
                "Unless given, form_post at Microsoft's providers and where it is published, so that the code stays "
                + "out of the address; otherwise query.",
            valueName: "mode"
        ),
        completion: .list(["query", "form_post"])
    )
    var responseMode: String?

    @Option(
        help: ArgumentHelp(
            "The provider's question: login, consent, select_account, create or none.",
            discussion: "Some providers give a refresh token only with consent.",
            valueName: "prompt"
        ),
        completion: .list(["login", "consent", "select_account", "create", "none"])
    )
    var prompt: String?

    @Option(help: ArgumentHelp("The name to fill in.", valueName: "username"))
    var loginHint: String?

    @Option(
        help: ArgumentHelp(
            "The organization whose sign-in page is shown at once (Microsoft's providers).",
            valueName: "domain"
        )
    )
    var domainHint: String?

    @Option(
        help: ArgumentHelp(
            "The required kinds of authentication, in the provider's words, in order of preference.",
            discussion: "Separated by spaces. 'call' suggests them if an API requires more (RFC 9470).",
            valueName: "values"
        )
    )
    var acrValues: String?

    @Flag(
        help: ArgumentHelp(
            "Refuse the sign-in unless the provider says that it was one of --acr-values.",
            discussion: "Nothing is stored then. Without this, the provider may authenticate you in another way."
        )
    )
    var requireACR = false

    @Option(
        help: ArgumentHelp(
            "Refuse the sign-in unless the provider names all these methods of authentication, such as mfa.",
            discussion: "Nothing is stored then. Separated by spaces.",
            valueName: "methods"
        )
    )
    var requireAMR: String?

    @Option(
        help: ArgumentHelp(
            "The maximum age of your authentication.",
            discussion: "0 to 86400; checked in the ID token.",
            valueName: "seconds"
        )
    )
    var maxAge: String?

    @Option(
        help: ArgumentHelp("The languages of the pages, such as 'pt-BR pt', in order of preference.", valueName: "tags")
    )
    var uiLocales: String?

    @Option(
        help: ArgumentHelp(
            "Your time for the sign-in; 300 unless given.",
            discussion:
                "1 to 86400. No request to the provider takes longer. With --if-needed the command first waits as "
                + "long for another sign-in.",
            valueName: "seconds"
        )
    )
    var timeout: String?

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "One more parameter of the request, such as audience=https://api.example.com. Repeatable.",
            discussion:
                "It is one of the authorization request; for the requests for tokens, see --token-parameter. Those "
                + "that the command sets itself are refused.",
            valueName: "name=value"
        )
    )
    var extraParameters: [String] = []

    @Flag(
        help: ArgumentHelp(
            "Push the request to the provider if it offers this; always done if the provider requires it.",
            discussion:
                "RFC 9126: the address does not reveal the request. Give it if your client's registration requires "
                + "it."
        )
    )
    var push = false
}

extension SignInOptions {
    /// Returns the parameters of the sign-in, without the account.
    func parameters(_ token: TokenOptions, _ environment: Variables) throws -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: try token.scopes(environment))
        parameters.claims = try token.claims(environment)
        if let prompt = try environment.given("prompt", prompt) {
            parameters.prompt = SignInPrompt(rawValue: prompt.text)
        }
        parameters.loginHint = try environment.given("login-hint", loginHint)?.text
        parameters.domainHint = try environment.given("domain-hint", domainHint)?.text
        parameters.acrValues = try environment.words("acr-values", acrValues.map { [$0] } ?? [])
        parameters.requiresACR = try environment.isOn("require-acr", requireACR)
        guard !parameters.requiresACR || !parameters.acrValues.isEmpty else {
            throw UsageError("--require-acr needs --acr-values: give the kinds of authentication that you accept.")
        }
        parameters.requiredAMR = Set(try environment.words("require-amr", requireAMR.map { [$0] } ?? []))
        parameters.maxAge = try environment.given("max-age", maxAge)?.seconds(from: 0)
        parameters.uiLocales = try environment.words("ui-locales", uiLocales.map { [$0] } ?? [])
        parameters.responseMode = try chosenResponseMode(environment)
        parameters.timeout = try chosenTimeout(environment) ?? parameters.timeout
        parameters.extraQueryItems = try environment.items(
            "parameter",
            extraParameters,
            reserved: AuthorizationRequestMessage.reservedNames
        )
        return parameters
    }

    /// Returns the parameters of a sign-in on another device.
    ///
    /// - Parameter wanted: The value of `--account`.
    /// - Throws: `UsageError` if that account is not signed in yet: a device code carries no hint, so that any account
    ///   could sign in. Likewise if a kind of authentication is required, wherever that is said.
    func deviceParameters(
        _ parameters: InteractiveParameters,
        _ environment: Variables,
        for wanted: Given?
    ) throws -> DeviceCodeParameters {
        if let wanted, wanted.account == nil, parameters.account == nil {
            throw wanted.error(
                """
                '\(wanted.text.printable)' is not signed in here, and a device code cannot ask for another account. Leave it out, \
                or sign in without --device-code.
                """
            )
        }
        guard !parameters.requiresACR, parameters.requiredAMR.isEmpty else {
            throw UsageError(
                "A sign-in with a device code cannot require a kind of authentication. Leave --require-acr and --require-amr out, "
                    + "also of the environment and the profile, or sign in without --device-code."
            )
        }
        var device = DeviceCodeParameters(scopes: parameters.scopes)
        device.account = parameters.account
        device.claims = parameters.claims
        device.scheme = parameters.scheme
        device.extraParameters = parameters.extraQueryItems
        device.requiresPersistence = parameters.requiresPersistence
        device.timeout = try chosenTimeout(environment)
        return device
    }

    /// Returns the policy for pushing the request to the provider.
    func pushPolicy(_ environment: Variables) throws -> ClientConfiguration.PushPolicy {
        try environment.isOn("push", push) ? .whenOffered : .whenRequired
    }

    private func chosenResponseMode(_ environment: Variables) throws -> ResponseMode? {
        guard let given = try environment.given("response-mode", responseMode) else { return nil }
        guard let mode = ResponseMode(rawValue: given.text) else {
            throw given.error("'\(given.text.printable)' is not a response mode. Possible are: query, form_post.")
        }
        return mode
    }

    private func chosenTimeout(_ environment: Variables) throws -> Duration? {
        try environment.given("timeout", timeout)?.seconds(from: 1)
    }
}
