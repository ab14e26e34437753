// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import OAuthWire

/// Redeems a code or a refresh token.
///
/// A code is sent only once, because a second attempt would look like theft. A refresh token is sent once more if its answer
/// was lost, because a server with a grace period then gives the same answer again (``LostAnswer``).
/// - SeeAlso: [RFC 6749 §4.1.3](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3) and
///   [§6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
struct TokenEndpoint: Sendable {
    let client: EndpointClient
    let authority: Authority
    let metadata: ProviderMetadata
    let clock: any WallClock
    let context: RequestContext
    /// The program's own parameters, which every grant but a token exchange is sent with.
    var parameters: [(String, String)] = []
    /// The key whose possession each request proves; `nil` for none.
    var key: DPoPKey?
    /// Whether the program lets a refresh token be sent once more if its answer was lost.
    var retries = true

    /// - Parameter grant: The kind of credential; `nil` for one of the program's choice.
    func redeem(_ form: [(String, String)], grant: GrantType?) async throws -> TokenResponse {
        switch try await send(form, grant: grant) {
        case .accepted(let response): return response
        case .refused(let error), .ambiguous(let error): throw error
        }
    }

    /// The answer to a refresh token was lost on the way, although the request may have reached the server.
    struct LostAnswer: Error {
        let error: AuthenticationError
        /// Whether the refresh token may be sent once more.
        let allowsRetry: Bool

        /// - Parameter time: The time of the request. If it was longer than its limit, the process stood still: it may have lost an
        ///   answer that came long ago, and most grace periods are over by now.
        init(_ error: AuthenticationError, after time: Duration, limit: Duration, retries: Bool) {
            self.error = error
            allowsRetry = retries && time <= limit + .seconds(1)
        }
    }

    /// Redeems a refresh token.
    ///
    /// - Throws: ``LostAnswer``; the error of any other outcome.
    func redeemRefreshToken(_ form: [(String, String)]) async throws -> TokenResponse {
        let begin = SuspendingClock.now
        let outcome: EndpointOutcome<TokenResponse>
        do {
            outcome = try await send(form, grant: .refreshToken)
        } catch let error as AuthenticationError where .network ~= error.code && error.mayHaveReachedTheServer {
            outcome = .ambiguous(error)
        }
        switch outcome {
        case .accepted(let response): return response
        case .refused(let error): throw error
        case .ambiguous(let error):
            throw LostAnswer(error, after: SuspendingClock.now - begin, limit: client.deadline, retries: retries)
        }
    }

    /// Redeems a refresh token that no other process has, and sends it once more if that is allowed.
    func redeemOwnRefreshToken(_ form: [(String, String)]) async throws -> TokenResponse {
        do {
            do { return try await redeemRefreshToken(form) } catch let lost as LostAnswer where lost.allowsRetry {}
            return try await redeemRefreshToken(form)
        } catch let lost as LostAnswer {
            throw lost.error
        }
    }

    /// Sends one request and returns the outcome, whatever it is.
    func send(_ form: [(String, String)], grant: GrantType?) async throws -> EndpointOutcome<TokenResponse> {
        func outcome(_ response: HTTPResponse, _ body: [UInt8]) -> EndpointOutcome<TokenResponse> {
            EndpointOutcome<TokenResponse>(response, body, grant: grant, now: clock.unixSeconds, context: context)
        }
        do {
            let (response, body) = try await client.post(
                grant == .tokenExchange ? form : form + parameters,
                to: metadata.tokenEndpoint,
                secretIn: metadata.clientSecretPlace,
                provenBy: key,
                context: context,
                authority: authority
            )
            return outcome(response, body)
        } catch let error as AuthenticationError {
            // The sign-in goes on with a refresh token that stands in what was read.
            guard let answer = error.underlyingError as? OversizedAnswer,
                case .accepted(let tokens) = outcome(answer.response, answer.beginning)
            else { throw error }
            return .accepted(tokens)
        }
    }
}

extension TokenEndpoint {
    init(
        _ environment: FlowEnvironment,
        _ authority: Authority,
        _ metadata: ProviderMetadata,
        _ context: RequestContext,
        provenBy key: DPoPKey?
    ) {
        self.init(
            client: environment.client,
            authority: authority,
            metadata: metadata,
            clock: environment.clock,
            context: context,
            parameters: environment.tokenParameters,
            key: key,
            retries: environment.configuration.compatibility.retriesUnansweredRefreshes
        )
    }
}

extension AuthenticationError {
    /// Whether the server may have acted on the request although no answer came.
    fileprivate var mayHaveReachedTheServer: Bool {
        if let failure = underlyingError as? CurlFailure, !failure.wasSent { return false }
        return ![.nameNotResolved, .tlsFailed, .proxyFailed, .transportUnavailable].contains(code)
    }
}

// The scopes of an answer in the spelling of its request.
extension TokenResponse {
    /// Returns the response with the requested scopes that it grants in another spelling, beside that spelling.
    ///
    /// Only the scopes of one request and of its answer are compared in this way. The cache compares scopes by their bytes.
    ///
    /// Deviation: Entra ID and B2C name a scope with or without its API, with `/` twice or at the end, and name the single
    /// scopes for `.default`. B2C answers `/` to the client's own identifier.
    ///
    /// Deviation: GitHub leaves a scope out that a wider one contains, as `user` contains `user:email`.
    ///
    /// - Parameter asked: The scopes that the request named.
    func namingScopes(as asked: [String], at authority: Authority) -> TokenResponse {
        guard let granted = scopes else { return self }
        let rule = authority.scopeRule
        let known = rule.matchable(granted)
        let missing = asked.filter { !rule.matchable([$0]).isSubset(of: known) }
        guard !missing.isEmpty else { return self }
        var response = self
        if authority.isMicrosoft {
            let names = granted.filter { !rule.isReserved($0) }.map(ScopeName.init)
            let wanted = asked.filter { !rule.isReserved($0) }.map(ScopeName.init)
            response.scopes = granted + missing.filter { ScopeName($0).isGranted(by: names, among: wanted) }
        } else if !authority.issuesIDTokens {
            response.scopes =
                granted
                + missing.filter { scope in
                    granted.contains { !$0.isEmpty && scope.utf8.starts(with: "\($0):".utf8) }
                }
        }
        return response
    }
}

/// A scope of Microsoft's providers in its parts.
private struct ScopeName {
    /// The API; `nil` if the scope does not name it.
    let resource: String?
    let name: String

    init(_ scope: String) {
        var parts = scope.lowercased().split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        // "https:" and the host were parted.
        if parts.count > 1, let scheme = parts.first, scheme.utf8.last == UInt8(ascii: ":") {
            parts[0...1] = ["\(scheme)//\(parts[1])"]
        }
        name = parts.popLast() ?? ""
        resource = parts.isEmpty ? nil : parts.joined(separator: "/")
    }

    /// - Parameters:
    ///   - granted: The granted scopes.
    ///   - wanted: All requested scopes. A token is for one API, so a scope without its API is clear only if no other API's
    ///     scope has the same name.
    func isGranted(by granted: [ScopeName], among wanted: [ScopeName]) -> Bool {
        let isClear = wanted.count { $0.name == name } == 1
        return granted.contains { other in
            let isSameAPI = resource == other.resource || isClear && (resource == nil || other.resource == nil)
            if name == ".default" { return isSameAPI && (other.resource != nil || wanted.count == 1) }
            return isSameAPI && name == other.name || other.name.isEmpty && Authority.isGUID(name)
        }
    }
}
