// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
import LoopbackHTTP
import OAuthWire
import Synchronization

/// An identity provider that runs inside the test: complete, fast, and as hostile as the test wants.
///
/// It can be reached in two ways, which share the same state. ``transport`` answers in the process, in microseconds and
/// without sockets; ``listen(port:)`` opens a port on the loopback interface for real browsers and real processes.
///
/// ```swift
/// let provider = try TestIdentityProvider()
/// let browser = ScriptedBrowser(provider: provider, signingInAs: .alice)
/// // Configuration(clientID: "test-client", authority: provider.authority, transport: provider.transport, …)
/// ```
///
/// Its tokens are worthless anywhere else, and its keys are created anew in each process. Never expose it to other
/// machines.
public final class TestIdentityProvider: Sendable {
    /// The kind of provider to play.
    public let profile: Profile

    /// The provider's authority, reached through ``transport``.
    public let authority: Authority

    /// The clock that the lifetimes follow.
    let clock: any WallClock
    let origin: String
    let issuerPath: String
    let state: Mutex<ProviderState>
    let server = Mutex<LoopbackServer?>(nil)

    /// Creates a provider. It does not listen on a port until you call ``listen(port:)``.
    ///
    /// - Parameters:
    ///   - profile: The kind of provider to play.
    ///   - clock: The clock that lifetimes follow; a ``ManualClock`` makes tokens expire at will.
    ///   - issuer: The address that ``transport`` reaches; `nil` means an address that suits the profile. For a plain
    ///     OpenID provider it may have a path; for the others only the scheme and the host count.
    ///   - clients: The registered programs.
    ///   - people: The people who can sign in.
    ///   - settings: The provider's behavior; `nil` means the usual settings of the profile.
    /// - Throws: `AuthenticationError` of the family `.configuration` if the issuer, tenant or policy cannot be part of an address.
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
        server.withLock { $0?.close() }
    }

    /// A transport that sends requests straight to the provider. Other hosts cannot be resolved, as if the machine were
    /// offline.
    public var transport: any HTTPTransport { ProviderTransport(provider: self) }

    /// The provider's behavior. Changes apply from the next request on.
    public var settings: Settings {
        get { state.withLock { $0.settings } }
        set { state.withLock { $0.settings = newValue } }
    }

    /// The requests so far, in the process and on loopback.
    public var requests: [RecordedRequest] { state.withLock { $0.log.requests } }

    /// Returns how many requests an endpoint has received so far.
    public func count(of endpoint: Endpoint) -> Int { state.withLock { $0.log.count(of: endpoint) } }

    /// Forgets the requests so far.
    public func forgetRequests() { state.withLock { $0.log.clear() } }

    /// Waits until an endpoint has received `count` requests, and returns the last of them, which may not be answered
    /// yet.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - count: The number of requests since the provider was created or ``forgetRequests()`` was called.
    ///   - timeout: The limit in real time, after which it throws ``WaitTimedOut``.
    /// - Throws: `CancellationError` if the task is cancelled.
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
