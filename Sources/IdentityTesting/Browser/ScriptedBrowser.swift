// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization

/// A person in front of a browser, played by a script: signs in, agrees or not, and goes where the provider sends them.
///
/// ```swift
/// let provider = try TestIdentityProvider()
/// let receiver = InMemoryRedirectReceiver()
/// let browser = ScriptedBrowser(provider: provider, receiver: receiver)
/// ```
///
/// It reaches the provider in the process where that is its address, and other loopback addresses over HTTP: a provider
/// that listens in another process, and the program's own redirect address. It keeps cookies until it goes away.
public final class ScriptedBrowser: BrowserLauncher {
    struct State {
        var person: TestIdentityProvider.Person
        var behaviour: Behaviour
        var mischief: [Mischief] = []
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

    /// Seats somebody in front of the browser.
    ///
    /// - Parameters:
    ///   - provider: The provider that is reached in the process; `nil` means all over HTTP.
    ///   - person: Who signs in.
    ///   - behaviour: What they do.
    ///   - receiver: Where redirects are handed over without a port; `nil` means over HTTP.
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

    deinit {
        for task in state.withLock({ $0.tasks }) { task.cancel() }
    }

    /// Opens `url` and returns at once; the person acts meanwhile. See ``finalPage(timeout:)``.
    ///
    /// - Throws: Nothing: what goes wrong during the visit is thrown by ``finalPage(timeout:)``.
    public func open(_ url: URL) async throws {
        let promise = Promise<Page>()
        state.withLock { state in
            state.opened.append(url)
            state.visit = promise
            state.redirectWaiter = Promise()
        }
        let task = Task { [weak self] in
            do {
                guard let page = try await self?.visit(url) else { throw CancellationError() }
                promise.finish(.success(page))
            } catch {
                promise.finish(.failure(error))
            }
        }
        state.withLock { $0.tasks.append(task) }
    }

    /// The page on which the visit that ``open(_:)`` began has ended.
    ///
    /// - Throws: What ended the visit instead, ``WaitTimedOut``, or `CancellationError`.
    public func finalPage(timeout: Duration = .seconds(30)) async throws -> Page {
        guard let promise = state.withLock({ $0.visit }) else { throw WaitTimedOut(what: "Opening the browser") }
        return try await promise.value(within: timeout, for: "The end of the visit")
    }

    /// The address that the provider sent the browser back to last, parameters included; waits for it.
    ///
    /// With ``followsRedirects`` off this is what a person copies out of the address bar.
    ///
    /// - Throws: As ``finalPage(timeout:)``.
    public func redirectURL(timeout: Duration = .seconds(30)) async throws -> URL {
        let promise = state.withLock { $0.redirectWaiter }
        return try await promise.value(within: timeout, for: "A redirect to the program")
    }

    /// Who signs in from now on.
    public var person: TestIdentityProvider.Person {
        get { state.withLock { $0.person } }
        set { state.withLock { $0.person = newValue } }
    }

    /// What the person does from now on.
    public var behaviour: Behaviour {
        get { state.withLock { $0.behaviour } }
        set { state.withLock { $0.behaviour = newValue } }
    }

    /// What goes wrong on the way back to the program from now on.
    public var mischief: [Mischief] {
        get { state.withLock { $0.mischief } }
        set { state.withLock { $0.mischief = newValue } }
    }

    /// Whether the browser goes back to the program; else it stops at the address.
    public var followsRedirects: Bool {
        get { state.withLock { $0.followsRedirects } }
        set { state.withLock { $0.followsRedirects = newValue } }
    }

    /// The addresses that were opened.
    public var openedURLs: [URL] { state.withLock { $0.opened } }

    /// The pages that were shown, in order.
    public var pages: [Page] { state.withLock { $0.pages } }

    /// Forgets that anybody signed in.
    public func forgetCookies() { state.withLock { $0.cookies = [:] } }
}
