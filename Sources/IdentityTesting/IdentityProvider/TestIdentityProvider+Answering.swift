// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Synchronization

extension TestIdentityProvider {
    /// Answers a request, received in the process or on loopback.
    ///
    /// - Parameter clock: The clock that delays follow.
    /// - Throws: `CancellationError` if the sender gave up.
    func answer(_ request: ProviderRequest, clock: any WallClock) async throws -> ProviderAnswer {
        let policy = request.query.first { $0.0 == "p" }?.1
        let resource = snapshot.resourceEndpoint(request.path).map {
            (ProviderAddress(origin: request.origin, form: .plain(path: issuerPath)), $0)
        }
        let place =
            resource
            ?? ProviderAddress.resolve(
                profile,
                issuerPath: issuerPath,
                origin: request.origin,
                path: request.path,
                policy: policy
            )
        let endpoint = place?.1 ?? .unknown
        let now = self.clock.now
        let fault = state.withLock { state in
            state.log.append(RecordedRequest(request, endpoint: endpoint, time: now))
            return state.faults.take(for: endpoint)
        }
        return try await answer(with: fault, clock: clock) {
            guard let (address, endpoint) = place else {
                return ProviderPages.document("Not found", "<p>There is nothing here.</p>", status: 404)
            }
            return try self.act(on: ProviderCall(message: request, address: address, now: self.clock.now), endpoint)
        }
    }

    private func act(on request: ProviderCall, _ endpoint: Endpoint) throws -> ProviderResponse {
        if endpoint == .instanceDiscovery { return snapshot.instances(request, origin: origin) }
        do {
            guard snapshot.serves(request.address) else {
                throw Refusal("invalid_tenant", "The tenant or policy is not known.", number: 90_002)
            }
            switch endpoint {
            case .discovery: return .json(snapshot.configuration(at: request.address))
            case .keys: return .json(try snapshot.keySet())
            case .authorization:
                return render(state.withLock { $0.authorize(request) }, at: request.address)
            case .interaction: return render(state.withLock { $0.interact(request) }, at: request.address)
            case .pushedAuthorization: return try state.withLock { try $0.push(request) }
            case .token: return try token(request)
            case .deviceAuthorization: return try startDevice(request)
            case .deviceVerification: return verifyDevice(request)
            case .revocation:
                try state.withLock { try $0.revoke(request) }
                return ProviderResponse(status: 200)
            case .introspection: return .json(try snapshot.introspect(request))
            case .endSession: return endSession(request)
            case .userInfo: return try userInfo(request)
            case .registration: return try state.withLock { try $0.register(request) }
            case .resource: return snapshot.callResource(request)
            case .resourceMetadata: return snapshot.resourceMetadata(at: request.address)
            default: return ProviderResponse(status: 404)
            }
        } catch let refusal as Refusal {
            return snapshot.response(to: refusal, correlationID: request.header("client-request-id"), now: request.now)
        }
    }

    private func token(_ request: ProviderCall) throws -> ProviderResponse {
        let (issue, builder) = try state.withLock { state in
            let issue = try state.redeemBound(request)
            return (
                issue,
                TokenResponseBuilder(state: state, tampering: issue.wantsIDToken ? state.faults.takeTampering() : nil)
            )
        }
        return snapshot.announcingNonce(.json(try builder.response(issue)))
    }

    private func render(_ answer: AuthorizationAnswer, at address: ProviderAddress) -> ProviderResponse {
        var response: ProviderResponse
        switch answer.step {
        case .page(let page):
            let state = snapshot
            let pages = ProviderPages(
                action: address.url(of: .interaction) ?? "",
                offersPasswordReset: profile.isB2C,
                offersSignUp: state.userFlow(at: address) == .signUpOrSignIn,
                people: state.settings.offersPeople ? state.accounts.prefix(4).map(\.person) : []
            )
            response = pages.page(page)
        case .back(let interaction, let items):
            if snapshot.settings.titlesOutOfBandAnswers, interaction.redirectURI == "urn:ietf:wg:oauth:2.0:oob" {
                response = ProviderPages.outOfBand(items)
            } else if interaction.responseMode == "form_post" {
                response = ProviderPages.formPost(to: interaction.redirectURI, items)
            } else {
                let url = try? FormURLEncoded.appending(items, to: interaction.redirectURI)
                response = .redirect(to: url ?? interaction.redirectURI)  // a registered URI has no fragment
            }
        }
        if let session = answer.newSession {
            let cookie = "\(ProviderState.cookieName)=\(session); Path=/; HttpOnly; SameSite=Lax"
            response.headers.append(("Set-Cookie", cookie))
        }
        return response
    }
}
