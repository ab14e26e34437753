// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import LoopbackHTTP
import Synchronization

/// An identity provider that runs inside the test: whole, quick, and as hostile as the test wants it.
///
/// It has two doors to one and the same state. ``transport`` answers in the process, in microseconds and without
/// sockets; ``listen(port:)`` opens a port on the loopback interface for real browsers and real processes.
///
/// ```swift
/// let provider = try TestIdentityProvider()
/// let browser = ScriptedBrowser(provider: provider, signingInAs: .alice)
/// // Configuration(clientID: "test-client", authority: provider.authority, transport: provider.transport, …)
/// ```
///
/// Its tokens are worth nothing anywhere else, and its keys are made anew in each process. Never let it be reached from
/// other machines.
public final class TestIdentityProvider: Sendable {
    /// The kind of provider it plays.
    public let profile: Profile

    /// Where clients find it through ``transport``.
    public let authority: Authority

    /// The clock that its lifetimes follow.
    let clock: any WallClock
    let origin: String
    let issuerPath: String
    let state: Mutex<ProviderState>
    let door = Mutex<LoopbackServer?>(nil)

    /// Makes a provider. Nothing listens until ``listen(port:)``.
    ///
    /// - Parameters:
    ///   - profile: The kind of provider to play.
    ///   - clock: What lifetimes follow; a ``ManualClock`` makes tokens expire at will.
    ///   - issuer: The address of the in-process door; `nil` means one that suits the profile. For a plain OpenID
    ///     provider it may have a path, else only scheme and host count.
    ///   - clients: The programs it knows.
    ///   - people: Who can sign in.
    ///   - settings: How it behaves; `nil` means as such providers do.
    /// - Throws: `AuthenticationError.configuration` when issuer, tenant or policy cannot be part of an address.
    public init(
        profile: Profile = .openIDConnect,
        clock: any WallClock = SystemClock(),
        issuer: String? = nil,
        clients: [Client] = [Client()],
        people: [Person] = [.alice, .bob],
        settings: Settings? = nil
    ) throws {
        let issuer = issuer ?? Self.defaultIssuer(profile)
        guard let address = WebAddress(issuer), address.query == nil else {
            throw AuthenticationError(.invalidArgument, "The issuer is not an https address.")
        }
        self.profile = profile
        self.clock = clock
        origin = address.origin
        issuerPath = profile == .openIDConnect && address.path != "/" ? address.path : ""
        authority = try Self.authority(profile, origin: origin, issuerPath: issuerPath, policy: nil)
        let state = ProviderState(
            profile: profile,
            settings: settings ?? Settings(profile),
            clients: clients,
            people: people
        )
        self.state = Mutex(state)
    }

    deinit {
        door.withLock { $0?.close() }
    }

    /// Sends requests straight to the provider. Hosts that are not its own cannot be resolved, as on a machine that
    /// is offline otherwise.
    public var transport: any HTTPTransport { ProviderTransport(provider: self) }

    /// How the provider behaves. Changes count from the next request on.
    public var settings: Settings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    /// The requests so far, through both doors.
    public var requests: [RecordedRequest] { state.withLock { $0.log.requests } }

    /// How many requests an endpoint had so far.
    public func count(of endpoint: Endpoint) -> Int { state.withLock { $0.log.count(of: endpoint) } }

    /// Forgets the requests so far.
    public func forgetRequests() { state.withLock { $0.log.clear() } }

    /// Waits until an endpoint has had `count` requests, and gives the last of them. It may not be answered yet.
    ///
    /// - Parameters:
    ///   - endpoint: Which one.
    ///   - count: How many requests since the provider was made, or ``forgetRequests()``.
    ///   - timeout: Real time, after which it throws ``WaitTimedOut``.
    /// - Throws: `CancellationError` when the task is cancelled.
    @discardableResult
    public func waitForRequest(
        _ endpoint: Endpoint,
        count: Int = 1,
        timeout: Duration = .seconds(10)
    ) async throws -> RecordedRequest {
        let promise = state.withLock { $0.log.wait(for: endpoint, count: count) }
        return try await promise.value(within: timeout, for: "request \(count) to the endpoint \(endpoint)")
    }

    var snapshot: ProviderState { state.withLock { $0 } }
}
