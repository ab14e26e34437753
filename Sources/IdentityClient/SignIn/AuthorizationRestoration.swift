// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// The restoration of a prepared sign-in from its data.
///
/// The data says what the answer is checked against. The endpoints come from the provider of the configured authority, as
/// for every sign-in.
struct AuthorizationRestoration: Sendable {
    static let version = 1
    /// The most bytes of data. The longest part is the address, of 32 KiB at most.
    private static let limit = 256 << 10

    let environment: FlowEnvironment

    func request(from data: [UInt8], named: Authority?) async throws -> AuthorizationRequest {
        var members = try Members(data, atMost: Self.limit)
        guard try members.integer("version") == Self.version else {
            throw AuthenticationError(
                .unsupported,
                "Another version of this library kept this prepared sign-in. Prepare a new one."
            )
        }
        var parameters = try members.parameters()
        let authority = try environment.clouds.authority(named, of: parameters.account)
        guard try WireText.areSame(members.string("clientID"), environment.clientID),
            try WireText.areSame(members.string("authority"), authority.fullName)
        else {
            throw AuthenticationError(
                .configuration,
                """
                This sign-in was prepared for another client or authority. Restore it with the same configuration, or prepare a \
                new one.
                """
            )
        }
        let validUntil = try members.date("validUntil")
        let left = validUntil.timeIntervalSince(environment.clock.now)
        // More than was possible at its preparation is left only if the clock was set back.
        guard left > 0, left <= 86_400 else {
            throw AuthenticationError(
                .interactionTimedOut,
                "The time of this prepared sign-in is up. Prepare a new one."
            )
        }
        let redirectURI = try members.url("redirectURI")
        let message = try members.message(for: environment.clientID, redirectURI: redirectURI)
        parameters.authority = named
        parameters.timeout = .seconds(left)
        let issuer = members.optionalString("issuer")
        let (proofKeyID, sshKey) = (members.optionalString("proofKeyID"), members.optionalString("sshKey"))
        let dpopKey = members.optionalString("dpopKey")
        let expiresOn = try members.optionalDate("urlExpiresOn")
        let (url, correlationID) = (try members.url("url"), try members.uuid("correlationID"))
        try members.end()

        let context = environment.context(correlationID)
        let proof = try await proof(dpopKey, proofKeyID, sshKey, at: authority, context)
        var signIn = try await SignIn(environment, context, parameters, key: .kept(proof))
        (signIn.asked, signIn.claims) = (message.message.scopes, message.message.claims)
        // The answer has to come from the provider that was asked.
        let published = signIn.metadata.issuer
        let isSame = issuer.map { old in published.map { WireText.areSame($0, old) } ?? false }
        guard isSame ?? (published == nil) else {
            throw context.error(
                .invalidResponse,
                "The provider has another name (issuer) than when this sign-in was prepared. Prepare a new one."
            )
        }
        return AuthorizationRequest(
            url: url,
            redirectURI: redirectURI,
            expiresOn: expiresOn,
            validUntil: validUntil,
            message: message.message,
            parameters: parameters,
            signIn: signIn,
            proofKey: message.proofKey
        )
    }

    /// - Throws: `.configuration` if the data's key is not what the configuration says of bound tokens.
    private func proof(
        _ dpopKey: String?,
        _ keyID: String?,
        _ sshKey: String?,
        at authority: Authority,
        _ context: RequestContext
    ) async throws -> TokenProof? {
        guard dpopKey == nil ? authority.dpop != .required : authority.dpop != .off else {
            throw context.error(
                .configuration,
                """
                This sign-in was prepared with another setting for bound tokens (dpop). Restore it with the same configuration, \
                or prepare a new one.
                """
            )
        }
        if let dpopKey {
            guard let key = DPoPKey(secret: dpopKey) else { throw Members.damaged }
            return TokenProof(key)
        }
        if let sshKey {
            return try await environment.proof(.sshCertificate(for: SSHPublicKey(sshKey)), at: authority)
        }
        guard let keyID else { return nil }
        guard let proof = try await environment.proof(.pop, at: authority), proof.key?.keyID == keyID else {
            throw context.error(
                .cache,
                "The cache has no longer the key that this sign-in asked a token for. Prepare a new one."
            )
        }
        return proof
    }
}

/// The members of the data. Each is taken once, and a member that is left at the end was not understood.
private struct Members {
    private var object: JSONObject

    static var damaged: AuthenticationError {
        AuthenticationError(
            .invalidArgument,
            "This is not the data of a prepared sign-in, or it is damaged. Prepare a new one."
        )
    }

    init(_ data: [UInt8], atMost limit: Int) throws {
        guard data.count <= limit, let object = try? JSONObject(parsing: data, maximumDepth: 3) else {
            throw Self.damaged
        }
        self.object = object
    }

    private init(_ object: JSONObject) { self.object = object }

    func end() throws {
        guard object.isEmpty else { throw Self.damaged }
    }

    /// Takes a member. One of another type stays, and is found at the end.
    private mutating func take<Value>(_ name: String, _ read: (String) -> Value?) -> Value? {
        let value = read(name)
        if value != nil { object[name] = nil }
        return value
    }

    private mutating func needed<Value>(_ name: String, _ read: (String) -> Value?) throws -> Value {
        guard let value = take(name, read) else { throw Self.damaged }
        return value
    }

    mutating func optionalString(_ name: String) -> String? { take(name, object.string) }
    mutating func string(_ name: String) throws -> String { try needed(name, object.string) }
    mutating func strings(_ name: String) throws -> [String] { try needed(name, object.strings) }
    mutating func integer(_ name: String) throws -> Int { try needed(name, object.integer) }
    mutating func bool(_ name: String) throws -> Bool { try needed(name, object.bool) }

    mutating func date(_ name: String) throws -> Date {
        Date(timeIntervalSince1970: Double(UnixSeconds.nearest(to: try integer(name))))
    }

    mutating func optionalDate(_ name: String) throws -> Date? {
        object[name] == nil ? nil : try date(name)
    }

    mutating func url(_ name: String) throws -> URL {
        let text = try string(name)
        guard let url = URL(string: text), url.absoluteString == text else { throw Self.damaged }
        return url
    }

    mutating func uuid(_ name: String) throws -> UUID {
        guard let uuid = UUID(uuidString: try string(name)) else { throw Self.damaged }
        return uuid
    }

    /// Takes what was sent in the request.
    mutating func message(
        for clientID: String,
        redirectURI: URL
    ) throws -> (message: AuthorizationRequestMessage, proofKey: ProofKey) {
        let verifier = try string("codeVerifier")
        let isVerifier = (43...128).contains(verifier.utf8.count) && PercentEncoding.encode(verifier) == verifier
        let proofKey = ProofKey(verifier: verifier)
        var message = AuthorizationRequestMessage(
            clientID: clientID,
            redirectURI: redirectURI.absoluteString,
            scopes: try strings("requestedScopes"),
            state: try string("state"),
            codeChallenge: proofKey.challenge
        )
        message.nonce = optionalString("nonce")
        message.maxAge = object["maxAge"] == nil ? nil : min(max(0, try integer("maxAge")), JSONObject.maximumDuration)
        message.claims = optionalString("claims")
        message.responseMode =
            try bool("isAnsweredByForm") ? ResponseMode.formPost.rawValue : ResponseMode.query.rawValue
        // A missing nonce would be a missing check.
        guard isVerifier, !message.state.isEmpty, (message.nonce != nil) == message.scopes.contains("openid") else {
            throw Self.damaged
        }
        return (message, proofKey)
    }

    /// Takes what the program asked for.
    mutating func parameters() throws -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: Set(try strings("scopes").map { Scope(rawValue: $0) }))
        parameters.acrValues = try strings("acrValues")
        parameters.requiresACR = try bool("requiresACR")
        parameters.requiredAMR = Set(try strings("requiredAMR"))
        parameters.requiresPersistence = try bool("requiresPersistence")
        guard let account = take("account", object.object) else { return parameters }
        var members = Members(account)
        parameters.account = Account(
            id: Account.ID(rawValue: try members.string("id")),
            environment: try members.string("environment"),
            username: members.optionalString("username"),
            homeAccountID: try members.string("homeAccountID")
        )
        try members.end()
        return parameters
    }
}
