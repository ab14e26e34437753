// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import SystemSupport

/// The sign-in through an identity broker.
struct BrokerSignIn: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// Signs the person in.
    ///
    /// - Returns: `nil` if the configuration has no broker, or if it could not be used and the browser may be opened instead.
    func run(_ parameters: InteractiveParameters) async throws -> AuthenticationResult? {
        let use = environment.configuration.broker
        guard let broker = use.broker else { return nil }
        var signIn = try await SignIn(environment, context, parameters)
        let proof = signIn.proof
        let request: BrokerRequest
        let tokens: BrokerTokens
        do {
            try AuthenticationError.checkBrokerKnows(parameters.scheme, context)
            request = try await self.request(parameters, signIn.authority, keyID: proof?.binding.keyID)
            parameters.onProgress?(.waitingForPerson(until: .now + parameters.timeout))
            tokens = try await AuthenticationError.ofBroker(context) {
                try await withDeadline(parameters.timeout) { try await broker.acquireTokenInteractively(request) }
            }
            try tokens.check(proof?.binding, context)
        } catch is DeadlineExceeded {
            throw context.error(
                .interactionTimedOut,
                "Sign-in was not finished within \(parameters.timeout.components.seconds) seconds."
            )
        } catch let error as AuthenticationError where !use.isRequired && error.leavesTheSignInToTheBrowser {
            context.logger.notice(
                "The identity broker cannot be used; the browser signs in",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            parameters.onProgress?(.brokerUnavailable(message: error.message))
            return nil
        }
        parameters.onProgress?(.redirectReceived)
        (signIn.asked, signIn.claims, signIn.source) = (request.scopes, request.claims, .broker)
        return try await signIn.finish(
            tokens.response(for: nil, parameters.scheme, at: environment.clock.unixSeconds),
            required: parameters.requiredAuthentication,
            maxAge: parameters.maxAge.map { Int($0.components.seconds) }
        )
    }

    private func request(
        _ parameters: InteractiveParameters,
        _ authority: Authority,
        keyID: String?
    ) async throws -> BrokerRequest {
        try parameters.checkRequiredAuthentication(at: authority)
        var request = BrokerRequest(
            clientID: environment.configuration.clientID,
            authority: authority,
            scopes: try parameters.scopes.checkedForBroker(),
            correlationID: context.correlationID
        )
        let prompt = try await PromptChoice(environment: environment, context: context).prompt(parameters, authority)
        request.keyID = keyID
        request.prompt = prompt == .providerDefault ? nil : prompt.rawValue
        request.account = prompt == .selectAccount ? nil : parameters.account
        let hint = parameters.loginHint ?? parameters.account?.username
        request.loginHint = prompt == .selectAccount ? nil : hint.flatMap { ExtraItems.fits($0) ? $0 : nil }
        request.claims = try ClaimsParameter.merged(parameters.claims, environment.configuration.clientCapabilities)
        for (name, value) in try ExtraItems.checked(environment.itemsOfSignIn(parameters.extraQueryItems)) {
            request.queryItems[name] = value
        }
        request.queryItems["domain_hint"] = parameters.domainHint
        request.queryItems["max_age"] = parameters.maxAge.map { "\($0.components.seconds)" }
        if !parameters.acrValues.isEmpty {
            request.queryItems["acr_values"] = parameters.acrValues.joined(separator: " ")
        }
        if !parameters.uiLocales.isEmpty {
            request.queryItems["ui_locales"] = parameters.uiLocales.joined(separator: " ")
        }
        return request
    }
}
