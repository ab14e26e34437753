// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import Synchronization

/// Sends requests with the system's libcurl, which is loaded when the first request is sent.
///
/// Only https is spoken, and http with this computer itself (`localhost`, `127.0.0.0/8`, `[::1]`). Certificates are
/// verified with TLS 1.2 or later, redirects are not followed, no cookies are kept, no answer is decompressed. A
/// request whose body may have reached the server is never sent a second time.
///
/// Bodies that are streamed may be of any size, and pass through buffers of some hundred kilobytes; for them the
/// `timeout` is the longest time in which nothing moves, 30 s unless given.
///
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` take the place of the system's file and of its directory of trusted certificates. With
/// one of them alone the other of the system's stays trusted; a file beside which nothing is trusted is named as
/// `certificateAuthorities`. `https_proxy`, `all_proxy` and `no_proxy` are honoured, except that this computer is never reached
/// through a proxy.
///
/// One object keeps connections open and has one thread while it works; after a minute without a request both are
/// given up until the next one. The first request after the computer was suspended gets a connection of its own, and none
/// from before. Keep one object per program, not one per request. Dropping it ends the thread.
/// A process that was forked without `exec` cannot use its parent's object.
public final class CurlTransport: StreamingHTTPTransport {
    private struct State {
        var driver: CurlDriver?
        /// How long the next driver may be held up. Each that was doubles it, since its thread stays behind.
        var heldUpTimeout: Duration
    }

    /// The time that one request may take unless the program says otherwise.
    static let defaultTimeout = Duration.seconds(60)

    let settings: CurlSettings
    private let state: Mutex<State>

    /// Creates a transport; nothing is loaded or started yet.
    ///
    /// - Parameters:
    ///   - timeout: How long a request may take in all, the connection included, counted in whole milliseconds, at least
    ///     one. A minute unless given, so that ``ClientConfiguration/requestTimeout`` decides.
    ///   - connectTimeout: How long finding the host, connecting and the TLS handshake may take together. 10 s unless
    ///     given.
    ///   - maximumResponseBytes: The largest body that is accepted; a larger one is refused while it arrives. 1 MiB unless
    ///     given.
    ///   - certificateAuthorities: The path of a PEM file with the certificates to trust *instead of* the system's
    ///     and those named by `SSL_CERT_FILE` and `SSL_CERT_DIR`; `nil` for those.
    ///   - proxy: The proxy's address, such as `http://name:password@proxy.example:3128`, in place of `https_proxy` and
    ///     `all_proxy`; empty for none, whatever these say; `nil`, the default, for what they say. The settings of a desktop
    ///     do not stand in the environment: a GTK program asks GIO (`g_proxy_resolver_lookup`) for the way to its provider,
    ///     and names the first answer here, or nothing for `direct://`. A request fails with `.proxyFailed` where libcurl
    ///     cannot use the address, and with `.invalidArgument` where it has spaces or is not ASCII. Nothing shows it.
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

    /// Sends `request` with `body` and gives the whole answer; informational answers (1xx) are left out.
    ///
    /// `Host`, `Content-Length` and the other fields that frame a message are set by the transport; other fields are
    /// sent as they are, several of one name kept. Cancelling the task ends the call at once.
    /// - Throws: `AuthenticationError` with `.nameNotResolved`, `.connectionFailed`, `.networkTimedOut`, `.tlsFailed`,
    ///   `.proxyFailed` or `.network` when no answer came, `.responseTooLarge` when it was above a limit,
    ///   `.invalidArgument` when the request is not one that is sent, `.transportUnavailable` when there is no usable
    ///   libcurl; `CancellationError` when the task was cancelled.
    public func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try Task.checkCancellation()
        let pending = Promise<CurlDriver.Answer>()
        let (driver, ticket) = try submit(CurlRequest(request, body: body), .answer(pending))
        let answer = try await withTaskCancellationHandler {
            try await pending.value()
        } onCancel: {
            // The caller first: taking the transfer down may have to wait for a resolver.
            if pending.finish(.failure(CancellationError())) { driver.abandon(ticket) }
        }
        return (answer.response, answer.body)
    }

    /// Loads libcurl on the transport's own thread, which takes some 7 ms once in a process.
    package func prepare() {
        // What goes wrong here goes wrong again for the request, and is told to its caller.
        state.withLock { state in
            Self.retireWhatIsOfNoUse(&state)
            guard state.driver?.isRetired != false, let driver = try? CurlDriver(settings) else { return }
            if (try? driver.start()) != nil { state.driver = driver }
        }
    }

    func submit(_ request: CurlRequest, _ caller: CurlDriver.Caller) throws -> (CurlDriver, UInt64) {
        guard settings.proxy?.isPlain != false else {
            throw AuthenticationError(.invalidArgument, "The transport's proxy has characters that no address has.")
        }
        return try state.withLock { state in
            Self.retireWhatIsOfNoUse(&state)
            if let driver = state.driver, let ticket = driver.submit(request, caller) { return (driver, ticket) }
            let driver = try CurlDriver(settings)
            guard let ticket = driver.submit(request, caller) else { throw CurlDriver.exhausted() }
            try driver.start()
            state.driver = driver
            return (driver, ticket)
        }
    }

    /// What is under way goes on to its own end; connections that are idle are not used any more, and what holds up a
    /// thread holds up no further request.
    private static func retireWhatIsOfNoUse(_ state: inout State) {
        guard let driver = state.driver, !driver.isRetired else { return }
        let isHeldUp = driver.isHeldUp(for: state.heldUpTimeout)
        guard isHeldUp || driver.hasSlept else { return }
        if isHeldUp { state.heldUpTimeout *= 2 }
        driver.retire()
        state.driver = nil
    }
}

extension CurlTransport: PreparableTransport {}
