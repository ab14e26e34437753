// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization
import SystemSupport

/// A scripted person in front of a browser, who signs in, gives or refuses consent, and follows the provider's
/// redirects.
///
/// ```swift
/// let provider = try TestIdentityProvider()
/// let receiver = InMemoryRedirectReceiver()
/// let browser = ScriptedBrowser(provider: provider, receiver: receiver)
/// ```
///
/// The browser reaches the provider in the process if the address is the provider's. It reaches other loopback
/// addresses over HTTP: a provider that listens in another process, and the program's own redirect address. It keeps
/// cookies for its whole lifetime.
public final class ScriptedBrowser: BrowserLauncher {
    struct State {
        var person: TestIdentityProvider.Person
        var behaviour: Behaviour
        var redirectFaults: [RedirectFault] = []
        var followsRedirects = true
        var cookies: [String: [String: String]] = [:]
        var opened: [URL] = []
        var pages: [Page] = []
        var redirects: [URL] = []
        var visit: Promise<Page>?
        var redirectWaiter = Promise<URL>()
        var tasks: [Task<Void, Never>] = []
    }

    let provider: TestIdentityProvider?
    let receiver: InMemoryRedirectReceiver?
    let state: Mutex<State>

    /// Creates a browser for a person.
    ///
    /// - Parameters:
    ///   - provider: The provider to reach in the process; `nil` means that every request goes over HTTP.
    ///   - person: The person who signs in.
    ///   - behaviour: The person's behavior.
    ///   - receiver: The receiver that gets redirects without a port; `nil` means that redirects go over HTTP.
    public init(
        provider: TestIdentityProvider?,
        signingInAs person: TestIdentityProvider.Person = .alice,
        behaviour: Behaviour = .approve,
        receiver: InMemoryRedirectReceiver? = nil
    ) {
        self.provider = provider
        self.receiver = receiver
        state = Mutex(State(person: person, behaviour: behaviour))
    }

    /// The receiver of the browser's redirects, for a configuration that is made by hand.
    public var redirectReceiver: any RedirectReceiver { receiver ?? LoopbackRedirectReceiver() }

    deinit {
        for task in state.withLock({ $0.tasks }) { task.cancel() }
    }

    /// Opens `url`; the person acts on the pages. Returns when the browser goes back to the program or the person stays
    /// on a page. See ``finalPage(timeout:)``.
    ///
    /// - Throws: The reason for which no sign-in can result, so that the sign-in fails at once instead of at its time-out:
    ///   the page on which the provider refuses the request, an address that cannot be reached, or one where nothing
    ///   listens for the answer.
    public func open(_ url: URL) async throws {
        let (promise, opening) = (Promise<Page>(), Promise<Void>())
        state.withLock { state in
            state.opened.append(url)
            state.visit = promise
            state.redirectWaiter = Promise()
        }
        let task = Task { [weak self] in
            do {
                guard let page = try await self?.visit(url, opening) else { throw CancellationError() }
                promise.finish(.success(page))
                opening.finish(page.refusal.map { .failure($0) } ?? .success(()))
            } catch {
                promise.finish(.failure(error))
                // A browser that goes away refuses nothing.
                opening.finish(error is CancellationError ? .success(()) : .failure(error))
            }
        }
        state.withLock { $0.tasks.append(task) }
        try await opening.value()
    }

    /// Waits for the last page of the visit that ``open(_:)`` began, and returns it.
    ///
    /// - Throws: The error that ended the visit, ``WaitTimedOut``, or `CancellationError`.
    public func finalPage(timeout: Duration = .seconds(30)) async throws -> Page {
        guard let promise = state.withLock({ $0.visit }) else { throw WaitTimedOut(what: "Opening the browser") }
        return try await promise.value(within: timeout, for: "The end of the visit")
    }

    /// Waits for the address to which the provider last sent the browser back, and returns it with its parameters.
    ///
    /// If ``followsRedirects`` is `false`, this is the address that a person would copy from the address bar.
    ///
    /// - Throws: The same errors as ``finalPage(timeout:)``.
    public func redirectURL(timeout: Duration = .seconds(30)) async throws -> URL {
        let promise = state.withLock { $0.redirectWaiter }
        return try await promise.value(within: timeout, for: "A redirect to the program")
    }

    /// The person who signs in from now on.
    public var person: TestIdentityProvider.Person {
        get { state.withLock { $0.person } }
        set { state.withLock { $0.person = newValue } }
    }

    /// The person's behavior from now on.
    public var behaviour: Behaviour {
        get { state.withLock { $0.behaviour } }
        set { state.withLock { $0.behaviour = newValue } }
    }

    /// The disturbances on the way back to the program from now on.
    public var redirectFaults: [RedirectFault] {
        get { state.withLock { $0.redirectFaults } }
        set { state.withLock { $0.redirectFaults = newValue } }
    }

    /// Whether the browser follows the redirect to the program. If not, it stops at the redirect address.
    public var followsRedirects: Bool {
        get { state.withLock { $0.followsRedirects } }
        set { state.withLock { $0.followsRedirects = newValue } }
    }

    /// The addresses that were opened.
    public var openedURLs: [URL] { state.withLock { $0.opened } }

    /// The pages that were shown, in order.
    public var pages: [Page] { state.withLock { $0.pages } }

    /// Forgets all cookies, and with them every sign-in.
    public func forgetCookies() { state.withLock { $0.cookies = [:] } }
}
