// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import HTTPTypes
public import IdentityClient
package import Logging
package import OAuthWire
import Synchronization
import SystemSupport

/// A record of a sign-in's requests, answers and decisions, without secrets, for a support case.
///
/// Set it as the configuration's `capture` before the application object is created, repeat what fails, and write
/// ``json()`` into a file. Every value that is not known to be harmless is replaced by a placeholder; the same value
/// becomes the same placeholder, so that a reader sees whether `state` or `nonce` came back. No token, code, password,
/// username or e-mail address is kept. The provider's addresses (with the tenant), the client identifier, the requested
/// scopes and the names of all parameters are. Show it to the person before it is sent anywhere.
///
/// ```swift
/// let capture = ExchangeCapture()
/// configuration.capture = capture
/// let app = try PublicClientApplication(configuration)
/// _ = try? await app.acquireTokenInteractively(scopes: ["email"])
/// try Data(capture.json()).write(to: file)
/// ```
///
/// An acquisition from the cache leaves no entry. The format is in `Docs/capture.md`.
public final class ExchangeCapture: Sendable {
    private struct State {
        var redaction = Redaction()
        var entries: [JSONObject] = []
        var size = 0
        var omitted = 0
    }

    private let maximumBytes: Int
    private let begin = ContinuousClock.now
    private let began = Date()
    private let state = Mutex(State())

    /// Creates an empty capture.
    ///
    /// - Parameter maximumBytes: The maximum size of the entries. Later entries are only counted. 1 MiB unless given.
    public init(maximumBytes: Int = 1024 * 1024) {
        self.maximumBytes = maximumBytes
    }

    /// The capture so far, as a JSON object.
    public func json() -> [UInt8] { object().serialized() }

    /// - Parameter facts: More members, without secrets.
    package func object(with facts: [(String, JSONValue)] = []) -> JSONObject {
        var object = JSONObject([
            ("format", .string("identity-exchange-capture/1")),
            ("began", .string(began.utcText)),
            ("library", .string("swift-identity-client/\(LibraryVersion.current)")),
        ])
        for (name, value) in facts { object[name] = value }
        state.withLock { state in
            object["entries"] = state.redaction.withoutSecrets(.array(state.entries.map { .object($0) }))
            object["omitted"] = .integer(state.omitted)
        }
        return object
    }

    private func append(_ kind: String, _ correlationID: UUID?, _ members: (inout Redaction) -> [(String, JSONValue)]) {
        let time = begin.duration(to: .now).milliseconds
        state.withLock { state in
            guard state.size < maximumBytes else { return state.omitted += 1 }
            var entry = JSONObject([("at", .integer(time)), ("kind", .string(kind))])
            if let correlationID { entry["correlationID"] = .string(correlationID.uuidString.lowercased()) }
            for (name, value) in members(&state.redaction) { entry[name] = value }
            let size = entry.serialized().count
            guard state.size + size <= maximumBytes else { return state.omitted += 1 }
            state.size += size
            state.entries.append(entry)
        }
    }
}

extension ExchangeCapture: ExchangeObserver {
    /// Notes a request with its answer, or the error in place of one.
    package func note(
        _ request: HTTPRequest,
        body: [UInt8]?,
        took duration: Duration,
        _ outcome: Result<(HTTPResponse, body: [UInt8]), any Error>,
        _ correlationID: UUID
    ) {
        append("request", correlationID) { redaction in
            let url = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")"
            var entry: [(String, JSONValue)] = [
                ("method", .string(request.method.rawValue)),
                ("url", .string(redaction.address(url, isOurs: true))),
                ("headers", Self.fields(request.headerFields, isOurs: true, &redaction)),
            ]
            if let body { entry.append(("form", Self.form(body, &redaction))) }
            switch outcome {
            case .success(let (response, bytes)):
                entry.append(("status", .integer(response.status.code)))
                entry.append(("answerHeaders", Self.fields(response.headerFields, isOurs: false, &redaction)))
                entry.append(("answerBytes", .integer(bytes.count)))
                if let json = try? JSONObject(received: bytes, repairsText: true) {
                    entry.append(("answer", .object(redaction.object(json))))
                }
            case .failure(let error): entry.append(("error", Self.error(error, &redaction)))
            }
            return entry + [("milliseconds", .integer(duration.milliseconds))]
        }
    }

    /// Notes the address that the person's browser is sent to.
    package func note(authorization url: URL, _ correlationID: UUID) {
        append("authorization", correlationID) { redaction in
            [("url", .string(redaction.address(url.absoluteString, isOurs: true)))]
        }
    }

    /// Notes the answer that came through the browser.
    ///
    /// - Parameter isAwaited: Whether it answers the pending sign-in, by its `state`.
    package func note(redirect items: [(String, String)], isAwaited: Bool, _ correlationID: UUID) {
        append("redirect", correlationID) { redaction in
            [("parameters", redaction.items(items, isOurs: false)), ("isAwaited", .bool(isAwaited))]
        }
    }

    /// Notes a step or a decision.
    ///
    /// - Parameter text: A text of this library's own, without values.
    package func note(_ text: String, error: (any Error)? = nil, _ correlationID: UUID? = nil) {
        append("step", correlationID) { redaction in
            [("text", .string(text))] + (error.map { [("error", Self.error($0, &redaction))] } ?? [])
        }
    }

    fileprivate func note(log text: String, code: String?, correlationID: String?) {
        append("step", nil) { redaction in
            var entry: [(String, JSONValue)] = [("text", .string(text))]
            if let code { entry.append(("code", .string(redaction.text(code, named: "error", isOurs: false)))) }
            if let correlationID {
                let text = redaction.text(correlationID, named: "correlation_id", isOurs: false)
                entry.append(("correlationID", .string(text)))
            }
            return entry
        }
    }

    /// Returns what a capture shows of an error: no text of it.
    private static func error(_ error: any Error, _ redaction: inout Redaction) -> JSONValue {
        guard let error = error as? AuthenticationError else {
            return .object(JSONObject([("code", .string(error is CancellationError ? "cancelled" : "other"))]))
        }
        var object = JSONObject([("code", .string(redaction.text(error.code.rawValue, named: "error", isOurs: false)))])
        if let server = error.serverError {
            object["serverError"] = .string(redaction.text(server.error, named: "error", isOurs: false))
            object["suberror"] = server.suberror.map {
                .string(redaction.text($0, named: "suberror", isOurs: false))
            }
            object["errorCodes"] = server.errorCodes.isEmpty ? nil : .array(server.errorCodes.map { .integer($0) })
            object["status"] = server.httpStatus.map { .integer($0) }
        }
        object["retryAfterSeconds"] = error.retryAfter.map { .integer($0.components.seconds) }
        return .object(object)
    }

    private static func fields(_ fields: HTTPFields, isOurs: Bool, _ redaction: inout Redaction) -> JSONValue {
        redaction.items(fields.map { ($0.name.canonicalName, $0.value) }, isOurs: isOurs)
    }

    private static func form(_ body: [UInt8], _ redaction: inout Redaction) -> JSONValue {
        guard let items = try? FormURLEncoded.decode(String(decoding: body, as: UTF8.self)) else { return .null }
        return redaction.items(items, isOurs: true)
    }
}

extension ExchangeCapture {
    /// Returns a logger that also notes what the library decides.
    package func logger(beside logger: Logger) -> Logger {
        Logger(label: logger.label) { _ in MultiplexLogHandler([logger.handler, CaptureLogHandler(capture: self)]) }
    }
}

/// Notes the library's own messages, with the error's code. Other metadata is left out.
private struct CaptureLogHandler: LogHandler {
    let capture: ExchangeCapture
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        capture.note(
            log: "\(event.message)",
            code: event.metadata?["identity.error"].map { "\($0)" },
            correlationID: metadata["identity.correlation_id"].map { "\($0)" }
        )
    }
}

extension ClientConfiguration {
    /// The record of the exchange for a support case, without secrets; `nil`, the default, for none.
    public var capture: ExchangeCapture? {
        get { observer as? ExchangeCapture }
        set { observer = newValue }
    }
}

extension ExchangeCapture: CustomStringConvertible, CustomReflectable {
    /// The number of entries.
    public var description: String { "ExchangeCapture(\(state.withLock { $0.entries.count }) entries)" }

    /// Shows nothing of the entries.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
