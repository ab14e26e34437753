// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire

extension Helper {
    static let apiKey = Helper(
        name: "api-key",
        options: ["--gateway", "--serves"],
        help: "'helper api-key' is for Claude Code and Codex before a model's gateway, which --gateway URL names.",
        answer: .call(GatewayCalls.answer)
    )
}

/// The last calls of a program that wants a token for a model's gateway.
///
/// Such programs say nothing of a refusal: they call once more. But Codex calls twice at each start as well. So a call that
/// comes soon after another one asks the gateway whether it takes the token.
struct GatewayCalls: Hashable {
    /// The answer of the gateway to a token.
    enum Answer: Hashable { case taken, refused, none }

    /// A digest of the token that was printed last.
    private(set) var token = ""
    /// The Unix seconds of the last three calls at most, and of the last renewal.
    private(set) var calls: [Int] = []
    private(set) var renewed = 0

    private static let (soon, atOnce, pause) = (60, 10, 60)
    private static let timeout = Duration.seconds(2)

    /// Whether the gateway is asked about the token that the cache has.
    func asks(about token: String, at now: Int) -> Bool {
        guard let last = calls.last, token == self.token else { return false }
        return now - last < Self.soon && now - renewed >= Self.pause
    }

    /// Whether the token is renewed. Without an answer, a third call in ten seconds counts as a refusal.
    func renews(after answer: Answer, at now: Int) -> Bool {
        switch answer {
        case .taken: false
        case .refused: true
        case .none: calls.filter { now - $0 < Self.atOnce }.count >= 2
        }
    }

    /// Notes a call, and the token that it gave.
    mutating func note(_ token: String, isRenewed: Bool, at now: Int) {
        self.token = token
        calls = calls.suffix(2) + [now]
        if isRenewed { renewed = now }
    }

    init() {}

    /// - Parameter bytes: A file that ``encoded`` wrote; any other counts as none.
    init(decoding bytes: [UInt8]) {
        guard let object = try? JSONObject(parsing: bytes), case .array(let times) = object["calls"] else { return }
        token = object.string("token") ?? ""
        calls = times.suffix(3).compactMap(\.integer)
        renewed = object.integer("renewed") ?? 0
    }

    var encoded: [UInt8] {
        JSONObject([
            ("token", .string(token)), ("calls", .array(calls.map { .integer($0) })), ("renewed", .integer(renewed)),
        ]).serialized()
    }

    /// The verdict of the gateway's list of models on the token.
    static func meaning(of response: HTTPResponse) -> Answer {
        let challenges = response.headerFields[values: .wwwAuthenticate]
        return HelperSource.isRefusal(response.status.code, challenges: challenges) ? .refused : .taken
    }

    @Sendable fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        let given = call.own["--gateway"] ?? session.environment.above(nil)["ANTHROPIC_BASE_URL"]
        let gateway = given.flatMap { WebAddress($0) }
        // A gateway that the profile does not serve gets no token, and so is not asked.
        let address = gateway.flatMap { ServedAddress(asked: $0.text) }
        let serving = try address.flatMap { try call.source(for: $0, in: session) }
        let source = try serving ?? call.source(in: session)
        let served = try source.route.variables.words("serves", [])
        // A file of a project may name another gateway, to which the program would send the token.
        if let given, serving == nil, !served.isEmpty || call.own["--gateway"] != nil {
            throw UsageError(
                "The profile does not serve \(given.printable). If it may have the token, add a line: serves = ADDRESS"
            )
        }
        var token = try await source.anyToken(in: session)
        let path = try? ProfileDirectory(session.environment).gatewayPath(of: source.route.variables.profile)
        let file = try? path.flatMap { try PlainFile.read($0, atMost: 4096) { _ in } }  // none is as good as a new one
        var calls = GatewayCalls(decoding: file?.bytes ?? [])
        let now = Int(Date.now.timeIntervalSince1970)
        var isRenewed = false
        if calls.asks(about: Digest.hexadecimal(of: [token.text]), at: now) {
            let answer = serving == nil ? .none : await ask(gateway, with: token, source)
            isRenewed = calls.renews(after: answer, at: now)
            if isRenewed { token = try await source.token(in: session, insteadOf: token.text) ?? token }
        }
        calls.note(Digest.hexadecimal(of: [token.text]), isRenewed: isRenewed, at: now)
        // Without the file, the next call is as good as the first.
        if let path { try? PlainFile.write(calls.encoded, to: path) }
        try session.result("\(token.text)\n")
    }

    /// Asks for the gateway's models, which costs nothing there.
    private static func ask(_ gateway: WebAddress?, with token: HandedToken, _ source: HelperSource) async -> Answer {
        guard let gateway,
            let transport = try? source.command.provider.transport(source.route.variables, timeout: timeout)
        else { return .none }
        let request = HTTPRequest(
            method: .get,
            scheme: gateway.scheme,
            authority: gateway.environment,
            path: (gateway.path.hasSuffix("/") ? String(gateway.path.dropLast()) : gateway.path) + "/v1/models",
            headerFields: [.authorization: "Bearer \(token.text)", .accept: "application/json"]
        )
        guard let (response, _) = try? await transport.send(request, body: nil) else { return .none }
        return meaning(of: response)
    }
}
