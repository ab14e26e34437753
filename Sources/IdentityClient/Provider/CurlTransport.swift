// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
public import HTTPTypes
import Synchronization
import SystemSupport

/// Sends requests with the system's libcurl, which the first request loads.
///
/// The transport uses only https, and http with this computer itself (`localhost`, `127.0.0.0/8`, `[::1]`). It verifies
/// certificates with TLS 1.2 or later, follows no redirects, and keeps no cookies. It asks for answers that are not compressed; one
/// that is compressed nevertheless, as its `Content-Encoding` says, is decompressed, and the limits count what comes out. A request
/// with an `Accept-Encoding` of its own gets the answer as it arrives. If a request's body may have reached the server, the request
/// is never sent a second time.
///
/// Streamed bodies may have any size, and pass through buffers of some hundred kilobytes; for them the `timeout` is the
/// maximum time without progress, 30 s by default. A connection whose other end is gone is noticed after three minutes.
///
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` replace the system's file and directory of trusted certificates. If only one variable is set, the system's other source stays trusted; to trust a single file only, set `certificateAuthorities`. The transport obeys `https_proxy`, `all_proxy` and `no_proxy`, but never uses a proxy for this computer.
///
/// One object keeps connections open and has one thread while it works; after a minute without a request both end until
/// the next request. After the computer was suspended, the first request gets a new connection. Keep one object per
/// program, not one per request. Releasing the object ends the thread. A process forked without `exec` cannot use its
/// parent's object.
///
/// ```swift
/// configuration.transport = CurlTransport(proxy: "http://proxy.example:3128")
/// ```
public final class CurlTransport: StreamingHTTPTransport {
    private struct State {
        var driver: CurlDriver?
        /// The time for which the next driver may be blocked. Each blocked driver doubles it, because its thread stays
        /// behind.
        var heldUpTimeout: Duration
    }

    /// The default time for one request.
    static let defaultTimeout = Duration.seconds(60)

    let settings: CurlSettings
    private let state: Mutex<State>

    /// Creates a transport; nothing is loaded or started yet.
    ///
    /// - Parameters:
    ///   - timeout: The total time for a request, including the connection, in whole milliseconds, at least one. The
    ///     default is a minute, so that ``ClientConfiguration/requestTimeout`` decides.
    ///   - connectTimeout: The total time for resolving the host, connecting and the TLS handshake. The default is 10
    ///     s.
    ///   - maximumResponseBytes: The maximum body; a larger body is refused while it arrives. The default is 1 MiB.
    ///   - certificateAuthorities: The path of a PEM file with the certificates to trust *instead of* the system's and
    ///     those of `SSL_CERT_FILE` and `SSL_CERT_DIR`; with `nil`, the default, these are trusted.
    ///   - proxy: The proxy's address, such as `http://name:password@proxy.example:3128`, instead of `https_proxy` and
    ///     `all_proxy`; empty for no proxy; with `nil`, the default, these variables count. The environment does not
    ///     have the desktop's settings: a GTK program calls GIO (`g_proxy_resolver_lookup`) with its provider's
    ///     address, and passes the first answer, or an empty text for `direct://`. A request throws `.proxyFailed` if
    ///     libcurl cannot use the address, and `.invalidArgument` if the address has spaces or is not ASCII. No
    ///     description shows the address.
    public convenience init(
        timeout: Duration? = nil,
        connectTimeout: Duration = .seconds(10),
        maximumResponseBytes: Int = 1024 * 1024,
        certificateAuthorities: String? = nil,
        proxy: String? = nil
    ) {
        self.init(
            CurlSettings(
                timeoutMilliseconds: (timeout ?? Self.defaultTimeout).curlMilliseconds,
                connectTimeoutMilliseconds: connectTimeout.curlMilliseconds,
                maximumResponseBytes: max(0, maximumResponseBytes),
                stallMilliseconds: (timeout ?? .seconds(30)).curlMilliseconds,
                certificateAuthorities: certificateAuthorities,
                proxy: proxy.map(ProxyAddress.init)
            )
        )
    }

    init(_ settings: CurlSettings) {
        self.settings = settings
        state = Mutex(State(heldUpTimeout: settings.heldUpTimeout))
    }

    deinit {
        state.withLock { $0.driver?.retire() }
    }

    /// Sends `request` with `body` and returns the whole answer; informational answers (1xx) are skipped.
    ///
    /// The transport sets `Host`, `Content-Length` and the other fields that frame a message; other fields are sent
    /// unchanged, also several with the same name. Cancelling the task ends the call at once.
    /// - Throws: `AuthenticationError` with `.nameNotResolved`, `.connectionFailed`, `.networkTimedOut`, `.tlsFailed`,
    ///   `.proxyFailed` or `.network` if no answer came, `.malformedResponse` if the answer exceeds a limit,
    ///   `.invalidArgument` if the request is not allowed, `.transportUnavailable` if there is no usable libcurl;
    ///   `CancellationError` if the task was cancelled.
    public func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try await send(request, body: body, within: .milliseconds(settings.timeoutMilliseconds))
    }

    package func send(
        _ request: HTTPRequest,
        body: [UInt8]?,
        within limit: Duration
    ) async throws -> (HTTPResponse, [UInt8]) {
        try Task.checkCancellation()
        let pending = Promise<CurlDriver.Answer>()
        var checked = try CurlRequest(request, body: body)
        checked.end = .now + min(limit, .milliseconds(settings.timeoutMilliseconds))
        let (driver, ticket) = try submit(checked, .answer(pending))
        let answer = try await withTaskCancellationHandler {
            try await pending.value()
        } onCancel: {
            // The caller resumes first, because removing the transfer may wait for a resolver.
            if pending.finish(.failure(CancellationError())) { driver.abandon(ticket) }
        }
        return (answer.response, answer.body)
    }

    /// Loads libcurl on the transport's own thread, which takes about 7 ms once in a process.
    package func prepare() {
        // A failure here happens again for the request, and its caller gets the error.
        state.withLock { state in
            Self.retireUnusableDriver(&state)
            guard state.driver?.isRetired != false, let driver = try? CurlDriver(settings) else { return }
            if (try? driver.start()) != nil { state.driver = driver }
        }
    }

    func submit(_ request: CurlRequest, _ caller: CurlDriver.Caller) throws -> (CurlDriver, UInt64) {
        guard settings.proxy?.isPlain != false else {
            throw AuthenticationError(.invalidArgument, "The transport's proxy address has invalid characters.")
        }
        return try state.withLock { state in
            Self.retireUnusableDriver(&state)
            if let driver = state.driver, let ticket = driver.submit(request, caller) { return (driver, ticket) }
            let driver = try CurlDriver(settings)
            guard let ticket = driver.submit(request, caller) else { throw CurlDriver.exhausted() }
            try driver.start()
            state.driver = driver
            return (driver, ticket)
        }
    }

    /// Running requests go on to their end; idle connections are not used again, and a blocked thread gets no further
    /// request.
    private static func retireUnusableDriver(_ state: inout State) {
        guard let driver = state.driver, !driver.isRetired else { return }
        let isHeldUp = driver.isHeldUp(for: state.heldUpTimeout)
        guard isHeldUp || driver.hasSlept else { return }
        if isHeldUp { state.heldUpTimeout *= 2 }
        driver.retire()
        state.driver = nil
    }
}

extension CurlTransport: PreparableTransport, TimedTransport {}

extension CurlTransport {
    /// Loads libcurl, and returns its version.
    ///
    /// - Throws: `.transportUnavailable` if there is no usable libcurl.
    package static func libraryVersion() async throws -> String {
        try await QueueExecutor("identity-client.curl-inspection").run {
            let settings = CurlSettings(
                timeoutMilliseconds: 1000,
                connectTimeoutMilliseconds: 1000,
                maximumResponseBytes: 0
            )
            let driver = try CurlDriver(settings)
            let pointer = unsafe driver.handle.pointer
            let names = settings.libraryNames
            let readiness = unsafe ccurl_driver_open(pointer, names.0, names.1, settings.newestLibraryVersion)
            guard readiness == CCURL_READY else {
                throw unsafe CurlFailure.unavailable(readiness, reason: String(cString: ccurl_driver_reason(pointer)))
            }
            defer { unsafe ccurl_driver_close(pointer) }
            let version = unsafe ccurl_driver_version(pointer)
            return "\(version >> 16 & 0xFF).\(version >> 8 & 0xFF).\(version & 0xFF)"
        }
    }
}

extension CurlTransport {
    /// Sends `request` with a streamed body, and returns the answer as soon as its head is there.
    ///
    /// - Throws: The errors of ``send(_:body:)``, and those of `body`.
    public func open(_ request: HTTPRequest, body: (any TransportBody)?) async throws -> any TransportExchange {
        try Task.checkCancellation()
        let stream = CurlStream()
        let (driver, ticket) = try submit(
            CurlRequest(request, body: nil, streamedLength: body?.length),
            .stream(stream)
        )
        let bodyTask = body.map { body in
            Task { await Self.sendBody(stream, from: body, driver, ticket) }
        }
        let handle = StreamHandle(stream: stream, driver: driver, ticket: ticket, bodyTask: bodyTask)
        let response = try await withTaskCancellationHandler {
            try await stream.head()
        } onCancel: {
            handle.cancel()
        }
        return CurlExchange(response: response, handle: handle)
    }

    private static func sendBody(
        _ stream: CurlStream,
        from body: any TransportBody,
        _ driver: CurlDriver,
        _ ticket: UInt64
    ) async {
        do {
            var left = body.length
            while left > 0 {
                guard let piece = try await body.next(), piece.count <= left else {
                    throw AuthenticationError(.invalidArgument, "The body's length differs from the announced length.")
                }
                left -= Int64(piece.count)
                try await stream.give(piece)
                driver.wakeThread()
            }
            // The source is asked once more, so that it learns when its last piece was sent.
            try await stream.waitUntilRead(driver.wakeThread)
            _ = try? await body.next()  // all bytes were given
        } catch {
            if stream.end(.failure(error)) { driver.abandon(ticket) }
        }
    }
}

/// The owner of a streamed transfer; releasing it ends the transfer.
final class StreamHandle: Sendable {
    let stream: CurlStream
    private let driver: CurlDriver
    private let ticket: UInt64
    private let bodyTask: Task<Void, Never>?

    init(stream: CurlStream, driver: CurlDriver, ticket: UInt64, bodyTask: Task<Void, Never>?) {
        self.stream = stream
        self.driver = driver
        self.ticket = ticket
        self.bodyTask = bodyTask
    }

    deinit {
        cancel()
    }

    func cancel() {
        bodyTask?.cancel()
        // The caller resumes first, because removing the transfer may wait for a resolver.
        if stream.end(.failure(CancellationError())) { driver.abandon(ticket) }
    }

    func next() async throws -> [UInt8]? {
        let piece = try await stream.next()
        driver.wakeThread()
        return piece
    }
}

/// A streamed answer.
struct CurlExchange: TransportExchange {
    let response: HTTPResponse
    let handle: StreamHandle

    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await handle.next()
        } onCancel: {
            handle.cancel()
        }
    }
}
