// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct EndpointOutcomeTests {
    enum Meaning: String, Sendable { case granted, refused, ambiguous }

    private func answer(
        _ status: Int,
        _ body: String,
        _ fields: HTTPFields = [:],
        grant: GrantType = .refreshToken
    ) -> (Meaning, AuthenticationError?) {
        let response = HTTPResponse(status: .init(code: status), headerFields: fields)
        let outcome = EndpointOutcome<TokenResponse>(
            response,
            Array(body.utf8),
            grant: grant,
            now: Fixture.now,
            context: Fixture.context
        )
        switch outcome {
        case .accepted: return (.granted, nil)
        case .refused(let error): return (.refused, error)
        case .ambiguous(let error): return (.ambiguous, error)
        }
    }

    static let tokens = #"{"access_token":"a","token_type":"Bearer"}"#

    @Test(
        arguments: [
            (200, tokens, .granted, nil), (201, tokens, .granted, nil),
            (200, #"{"error":"invalid_grant"}"#, .refused, .signInExpired),
            (200, #"{"error":"server_error"}"#, .refused, .serverUnavailable),
            // Whole and of no use: it is not sent again.
            (200, "<html>", .refused, .malformedResponse), (200, "", .refused, .malformedResponse),
            (200, "[]", .refused, .malformedResponse), (204, "", .refused, .malformedResponse),
            (200, #"{"a":1,"a":2}"#, .refused, .malformedResponse),
            (200, #"{"a":1,"a":2,"refresh_token":"r"}"#, .granted, nil),
            (200, #"{"error":"server_error","refresh_token":"r"}"#, .granted, nil),
            (200, #"{"refresh_token":"r","refresh_token":"s"}"#, .refused, .malformedResponse),
            (200, "\u{FEFF}" + tokens, .granted, nil), (200, "access_token=a&token_type=bearer", .granted, nil),
            (200, "error=bad_verification_code", .refused, .signInExpired),
            (400, "\u{FEFF}" + #"{"error":"temporarily_unavailable"}"#, .refused, .serverUnavailable),
            // It does not say where it ends, so the connection may have ended early.
            (200, #"{"access_token":"a","#, .ambiguous, .malformedResponse),
            (200, #"{"refresh_token":"r","#, .granted, nil),
            (200, "{}", .refused, .malformedResponse), (200, #"{"access_token":"a"}"#, .granted, nil),
            (200, #"{"access_token":"a","token_type":7}"#, .refused, .malformedResponse),
            (200, #"{"access_token":"a b","token_type":"Bearer"}"#, .refused, .malformedResponse),
            (200, #"{"access_token":"a","token_type":"Bearer","expires_in":-1}"#, .granted, nil),
            (200, #"{"access_token":"a","token_type":"Bearer","expires_in":[]}"#, .refused, .malformedResponse),
            (301, "", .refused, .malformedResponse), (302, tokens, .refused, .malformedResponse),
            (307, "", .refused, .malformedResponse), (308, "", .refused, .malformedResponse),
            (400, "", .refused, .signInExpired), (400, "<html>", .refused, .serverUnavailable),
            (403, #"{"error":"invalid_code"}"#, .refused, .signInExpired),
            (401, #"{"error":"invalid_client"}"#, .refused, .clientNotRegistered), (404, "", .refused, .configuration),
            (405, "", .refused, .signInExpired), (401, "<html>", .refused, .serverUnavailable),
            (403, "", .refused, .signInExpired), (400, "{}", .refused, .signInExpired),
            // JSON from a gateway.
            (403, "{}", .refused, .malformedResponse), (403, #"{"message":"Forbidden"}"#, .refused, .malformedResponse),
            (404, #"{"error":{"code":404}}"#, .refused, .malformedResponse),
            // A page with such a status comes from a proxy or firewall, not from the token endpoint (RFC 6749 §5.2).
            (403, "<html>", .refused, .malformedResponse), (404, "<html>", .refused, .malformedResponse),
            (407, "[]", .refused, .serverUnavailable), (407, "", .refused, .serverUnavailable),
            (451, "Blocked", .refused, .malformedResponse),
            (499, "\u{0}", .refused, .malformedResponse),
            (408, "", .ambiguous, .serverUnavailable), (429, "", .refused, .throttled),
            (429, #"{"error":"invalid_grant"}"#, .refused, .throttled),
            (500, "", .refused, .serverUnavailable), (502, "<html>", .ambiguous, .serverUnavailable),
            (503, #"{"error":"invalid_grant"}"#, .ambiguous, .serverUnavailable),
            (504, "", .ambiguous, .serverUnavailable), (522, "", .ambiguous, .serverUnavailable),
            (501, "", .refused, .serverUnavailable), (599, "", .refused, .serverUnavailable),
        ] as [(Int, String, Meaning, AuthenticationError.Code?)]
    )
    func means(status: Int, body: String, meaning: Meaning, code: AuthenticationError.Code?) {
        let (found, error) = answer(status, body)
        #expect(found == meaning)
        #expect(error?.code == code)
        #expect(error?.retryAfter == nil)
    }

    /// A gateway's or a proxy's demand for a password of its own says nothing about the refresh token.
    @Test(
        arguments: [
            (401, "", "Basic realm=vpn", .serverUnavailable), (401, "{}", "negotiate", .serverUnavailable),
            (400, #"{"a":1}"#, "NTLM", .serverUnavailable), (401, "", #"Bearer error="invalid_token""#, .signInExpired),
            (401, #"{"error":"invalid_client"}"#, "Basic realm=api", .clientNotRegistered),
            (401, #"{"error":"invalid_grant"}"#, "Negotiate", .signInExpired),
        ] as [(Int, String, String, AuthenticationError.Code)]
    )
    func tellsAGatewaysChallengeFromARefusal(
        status: Int,
        body: String,
        challenge: String,
        code: AuthenticationError.Code
    ) {
        #expect(answer(status, body, [.wwwAuthenticate: challenge]).1?.code == code)
    }

    /// Only a refresh spends something that a gateway's page must not be believed about.
    @Test(arguments: [400, 401]) func readsAPageAtASignInByItsStatus(status: Int) {
        let code = answer(status, "<html>", grant: .authorizationCode).1?.code
        #expect(code == (status == 400 ? .loginRequired : .configuration))
    }

    @Test func namesWhereARedirectLeads() {
        let message = answer(301, "", [.location: "https://new.example/token?refresh_token=r"]).1?.message
        #expect(message?.contains("'https://new.example/token', which is never followed") == true)
    }

    /// A refusal of a code in other words than OAuth's is not answered by another sign-in, and its words are shown.
    @Test(arguments: [
        (
            GrantType.authorizationCode, 400, #"{"errorSummary":"No client_id."}"#,
            AuthenticationError.Code.configuration
        ),
        (.authorizationCode, 403, #"{"error":{"message":"No client_id."}}"#, .malformedResponse),
        (.authorizationCode, 401, #"{"message":"No client_id."}"#, .configuration),
        (.refreshToken, 400, #"{"message":"No client_id."}"#, .signInExpired),
    ])
    func quotesForeignWords(grant: GrantType, status: Int, body: String, code: AuthenticationError.Code) {
        let outcome = EndpointOutcome<TokenResponse>(
            HTTPResponse(status: .init(code: status)),
            Array(body.utf8),
            grant: grant,
            now: Fixture.now,
            context: Fixture.context
        )
        guard case .refused(let error) = outcome else { return #expect(Bool(false), "It is a refusal.") }
        #expect(error.code == code)
        #expect(error.serverError?.errorDescription == "No client_id." && error.serverError?.error == "http_\(status)")
        #expect(error.message.contains("No client_id.") == (code == .configuration && status == 400))
    }

    /// RFC 9110 §10.2.3: seconds or a date. The request is repeated at the given time, not at once.
    @Test(
        arguments: [
            ("7", 7), ("0", 0), ("99999", 3600), ("-5", 0), ("Tue, 14 Nov 2023 22:13:30 GMT", 10),
            ("Tue, 14 Nov 2023 22:13:00 GMT", 0),
            ("Wed, 15 Nov 2023 22:13:20 GMT", 3600), ("soon", nil), ("1.5", nil), ("", nil),
        ] as [(String, Int?)]
    )
    func honoursRetryAfter(value: String, seconds: Int?) {
        for status in [408, 429, 500, 503] {
            let (meaning, error) = answer(status, "", [.retryAfter: value])
            #expect(error?.retryAfter == seconds.map { .seconds($0) }, "\(status)")
            #expect(meaning == (seconds == nil && [408, 503].contains(status) ? .ambiguous : .refused), "\(status)")
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct TokenEndpointTests {
    typealias Step = ScriptedTransport.Step
    static let tokens = EndpointOutcomeTests.tokens

    private func endpoint(_ transport: ScriptedTransport) throws -> TokenEndpoint {
        TokenEndpoint(
            client: EndpointClient(transport: transport),
            authority: try .openIDConnect(issuer: "https://h"),
            metadata: ProviderMetadata(authorizationEndpoint: "https://h/a", tokenEndpoint: "https://h/t?p=x"),
            clock: StillClock(),
            context: Fixture.context
        )
    }

    /// RFC 6749 §4.1.2: a code that arrives twice looks like theft, so it is never sent twice.
    @Test(
        arguments: [
            .answer(500, ""), .answer(503, ""), .answer(408, ""), .answer(200, "<html>"), .answer(429, ""),
            .answer(302, ""), .failure(.networkTimedOut),
            .failure(.connectionFailed), .failure(.nameNotResolved), .failure(.malformedResponse), .oddity,
        ] as [Step]
    )
    func sendsACodeOnce(step: Step) async throws {
        let transport = ScriptedTransport([step, .answer(200, Self.tokens)])
        let endpoint = try endpoint(transport)
        await #expect(throws: AuthenticationError.self) {
            try await endpoint.redeem([("code", "secret")], grant: .authorizationCode)
        }
        #expect(transport.sentBodies == ["code=secret"])
        #expect(transport.sentPaths == ["/t?p=x"])
    }

    /// The answer, and whether it leaves open whether the server acted.
    @Test(
        arguments: [
            (.answer(500, ""), false), (.answer(502, ""), true), (.answer(408, ""), true),
            (.answer(200, "<html>"), false), (.answer(200, "{", ["Content-Length": "1"]), false),
            (.answer(200, "{", ["Transfer-Encoding": "chunked"]), false), (.answer(200, "{\"a"), true),
            (.failure(.networkTimedOut), true),
            (.failure(.connectionFailed), true), (.oddity, true),
            (.answer(503, "", ["Retry-After": "5"]), false), (.answer(429, ""), false), (.answer(302, ""), false),
            (.answer(400, ""), false),
            (.answer(401, ""), false), (.answer(200, "{}"), false),
            (.answer(200, #"{"error":"invalid_grant"}"#), false),
            (.failure(.nameNotResolved), false), (.failure(.tlsFailed), false), (.failure(.proxyFailed), false),
            (.failure(.transportUnavailable), false),
            (.failure(.malformedResponse), false),
            (.unsent(.networkTimedOut), false), (.unsent(.connectionFailed), false),
        ] as [(Step, Bool)]
    )
    func tellsAnAnswerThatLeavesOpenWhetherTheServerActed(step: Step, isAmbiguous: Bool) async throws {
        let transport = ScriptedTransport([step, .answer(200, Self.tokens)])
        var isLost = false
        do {
            _ = try await endpoint(transport).redeemRefreshToken([("refresh_token", "secret")])
        } catch is TokenEndpoint.LostAnswer { isLost = true } catch {}
        #expect(isLost == isAmbiguous)
        #expect(transport.sentBodies == ["refresh_token=secret"])
    }

    /// A process that stood still for longer than a request may take does not send its refresh token again.
    @Test(arguments: [(5, true), (29, true), (30, true), (31, true), (32, false), (3600, false)])
    func allowsAnotherTimeOnlyInTime(seconds: Int, allowsRetry: Bool) {
        let error = AuthenticationError(.networkTimedOut, "")
        for retries in [true, false] {
            let lost = TokenEndpoint.LostAnswer(error, after: .seconds(seconds), limit: .seconds(30), retries: retries)
            #expect(lost.allowsRetry == (allowsRetry && retries))
        }
    }

    @Test(arguments: [true, false])
    func sendsAnOwnRefreshTokenOnceMoreIfTheProgramAllowsIt(retries: Bool) async throws {
        let transport = ScriptedTransport([.failure(.connectionFailed), .answer(200, Self.tokens)])
        var endpoint = try endpoint(transport)
        endpoint.retries = retries
        let answer = try? await endpoint.redeemOwnRefreshToken([("refresh_token", "secret")])
        #expect((answer != nil) == retries && transport.sentBodies.count == (retries ? 2 : 1))
    }
}
