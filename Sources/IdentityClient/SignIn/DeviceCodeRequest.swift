// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// The request for a code that a person types on another device.
///
/// If the provider publishes S256, only this program can redeem the code (PKCE).
/// - SeeAlso: [RFC 8628 §3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)
struct DeviceCodeRequest: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let parameters: DeviceCodeParameters
    let authority: Authority
    let metadata: ProviderMetadata
    let scopes: [String]
    let claims: String?

    /// Returns the code and, if the provider publishes S256, the proof that this program requested it.
    ///
    /// Deviation: RFC 8628 has no PKCE, but Keycloak requires it of clients that are configured so. Other providers
    /// ignore unknown parameters (RFC 6749 §3.2), as they should; a provider that refuses is asked again without PKCE.
    func requestCode() async throws -> (DeviceAuthorizationResponse, ProofKey?) {
        if metadata.codeChallengeMethods?.contains("S256") == true {
            let proofKey = ProofKey()
            do {
                return (try await code(provenBy: proofKey), proofKey)
            } catch let error as AuthenticationError where error.serverError?.error == "invalid_request" {}
        }
        return (try await code(provenBy: nil), nil)
    }

    private func code(provenBy proofKey: ProofKey?) async throws -> DeviceAuthorizationResponse {
        guard let endpoint = metadata.deviceAuthorizationEndpoint else {
            throw AuthenticationError(
                .unsupported,
                """
                The provider publishes no endpoint for a sign-in on another device (device_authorization_endpoint). Sign in \
                with a browser or, if the provider has one all the same, name it with the authority.
                """,
                correlationID: context.correlationID
            )
        }
        let form = DeviceAuthorizationRequestMessage.items(
            clientID: environment.clientID,
            scopes: scopes,
            codeChallenge: proofKey?.challenge,
            claims: claims,
            extra: try ExtraItems.checked(parameters.extraParameters)
        )
        let (response, body) = try await environment.client.post(
            form,
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            context: context,
            authority: authority
        )
        let now = environment.clock.unixSeconds
        let json = try EndpointOutcome<JSONObject>(response, body, grant: .deviceCode, now: now, context: context)
            .members(asking: scopes, beyond: parameters.scopes)
        do {
            return try DeviceAuthorizationResponse(json)
        } catch {
            throw unusable("\(error)")
        }
    }

    /// Returns the instructions for the person.
    func prompt(_ device: DeviceAuthorizationResponse, expiresOn: Date) throws -> DeviceCodePrompt {
        // The address is shown to a person, who opens it.
        guard WebAddress.isForPeople(device.verificationURI), let uri = URL(string: device.verificationURI) else {
            throw unusable("verification_uri is not an https address")
        }
        let complete = device.verificationURIComplete.flatMap { WebAddress.isForPeople($0) ? URL(string: $0) : nil }
        return DeviceCodePrompt(
            userCode: device.userCode,
            verificationURI: uri,
            verificationURIComplete: complete,
            message: device.message,
            expiresOn: expiresOn
        )
    }

    private func unusable(_ reason: String) -> AuthenticationError {
        AuthenticationError(
            .malformedResponse,
            "The provider's answer to the request for a code cannot be used: \(reason).",
            correlationID: context.correlationID
        )
    }
}
