// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import LoopbackHTTP
import Testing

@testable import IdentityClient

/// Ports, and the end of the wait.
@Suite(.timeLimit(.minutes(1))) struct LoopbackRedirectListenerTests {
    private func start(_ redirectURI: RedirectURI = .loopback) async throws -> (any RedirectListener, port: UInt16) {
        let listener = try await LoopbackRedirectReceiver().start(for: redirectURI, responseMode: .query)
        return (listener, UInt16(try #require(listener.redirectURI.port)))
    }

    private func redirect(_ port: UInt16) throws -> RawConnection {
        let browser = try RawConnection(port: port)
        browser.send("GET /?code=a HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
        return browser
    }

    private func refused(_ redirectURI: RedirectURI) async -> AuthenticationError? {
        do {
            _ = try await start(redirectURI)
            return nil
        } catch {
            return error as? AuthenticationError
        }
    }

    @Test func takesTheFirstFreePortOfARange() async throws {
        let blocker = try LoopbackServer.start(hosts: [machineHasIPv6 ? .ipv6 : .ipv4]) { _ in .dropped }
        defer { blocker.close() }
        let ports = blocker.port...min(blocker.port, UInt16.max - 20) + 20
        let (listener, port) = try await start(try .loopback(ports: ports))
        #expect(port != blocker.port && ports.contains(port))
        await listener.close()
    }

    @Test func namesThePortThatIsTaken() async throws {
        let blocker = try LoopbackServer.start(hosts: [.ipv4]) { _ in .dropped }
        defer { blocker.close() }
        let error = await refused(try .loopback(ports: blocker.port...blocker.port))
        #expect(error?.code == .redirectUnavailable)
        #expect(error?.message.contains("Port \(blocker.port)") == true)
    }

    @Test func sendsOtherAddressesToTheTwoStepForm() async throws {
        let error = await refused(try .custom(#require(URL(string: "com.example.app://back"))))
        #expect(error?.code == .redirectUnavailable && error?.message.contains("two steps") == true)
    }

    @Test func waitsNoLongerWhenCancelled() async throws {
        let (listener, port) = try await start()
        let waiting = Task { try await listener.receive() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let browser = try redirect(port)
        let redirect = try await listener.receive()
        await listener.answer(redirect, with: RedirectPage(outcome: .refused))
        #expect(try await browser.receive().hasPrefix("HTTP/1.1 400 "))
        await listener.close()
    }

    @Test func endsTheWaitWhenClosed() async throws {
        let (listener, _) = try await start()
        let waiting = Task { try await listener.receive() }
        await listener.close()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await #expect(throws: CancellationError.self) { try await listener.receive() }
    }

    @Test func freesThePortAtOnceInACancelledTask() async throws {
        var shortest = Duration.seconds(60)
        // The best of several attempts, because other tests may occupy the processor.
        for _ in 0..<5 {
            let (listener, port) = try await start()
            let browser = try redirect(port)
            let redirect = try await listener.receive()
            await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
            #expect(try await browser.receive().hasPrefix("HTTP/1.1 303 "))
            let flow = Task {
                do {
                    _ = try await listener.receive()
                } catch {
                    await listener.close()
                }
            }
            let started = ContinuousClock.now
            flow.cancel()
            await flow.value
            #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
            let (again, _) = try await start(try .loopback(ports: port...port))
            shortest = min(shortest, ContinuousClock.now - started)
            await again.close()
        }
        #expect(shortest < .milliseconds(100))
    }

    @Test func waitsSomeSecondsForThePageToBeFetched() async throws {
        let (listener, port) = try await start()
        let browser = try redirect(port)
        let redirect = try await listener.receive()
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
        #expect(try await browser.receive().hasPrefix("HTTP/1.1 303 "))
        let started = ContinuousClock.now
        await listener.close()
        let waited = ContinuousClock.now - started
        #expect(waited >= .seconds(4) && waited < .seconds(30))
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
    }

    @Test func doesNotWaitForABrowserThatWasNeverAnswered() async throws {
        func close(afterAnswer isAnswered: Bool) async throws -> Duration {
            let (listener, port) = try await start()
            do {
                let browser = try redirect(port)
                let redirect = try await listener.receive()
                #expect(redirect.url.query() == "code=a")
                if isAnswered { await listener.answer(redirect, with: RedirectPage(outcome: .succeeded)) }
                if isAnswered { #expect(try await browser.receive().hasPrefix("HTTP/1.1 303 ")) }
                withExtendedLifetime(browser) {}
            }
            let started = ContinuousClock.now
            await listener.close()
            return ContinuousClock.now - started
        }
        #expect(try await close(afterAnswer: false) < close(afterAnswer: true))
    }

    @Test func holdsTheBrowserUntilItIsAnswered() async throws {
        var limits = LoopbackServer.Limits()
        limits.requestDeadline = .milliseconds(200)
        let listener = try await LoopbackRedirectReceiver(limits: limits).start(for: .loopback, responseMode: .query)
        let port = UInt16(try #require(listener.redirectURI.port))
        let browser = try redirect(port)
        let redirect = try await listener.receive()
        // Waits longer than a request may take to arrive: the server closes this silent later connection first.
        let silent = try RawConnection(port: port)
        #expect(try await silent.receive().isEmpty)
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
        #expect(try await browser.receive().hasPrefix("HTTP/1.1 303 "))
        _ = try await exchange("GET /?done HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
        await listener.close()
    }

    /// A browser or a scanner fetches the address ahead, and the person's own visit comes later, or at the same time.
    @Test func showsTheSamePageWhereTheRedirectIsFetchedAgain() async throws {
        let (listener, port) = try await start()
        let ahead = try redirect(port)
        let first = try await listener.receive()
        let meanwhile = try redirect(port)
        let second = try await listener.receive()
        #expect(second.url == first.url)
        await listener.answer(first, with: RedirectPage(outcome: .succeeded))
        #expect(try await ahead.receive().hasPrefix("HTTP/1.1 303 "))
        for address in ["/?code=a", "/?code=a&debug=1"] {
            let again = try await exchange("GET \(address) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
            #expect(again.hasPrefix("HTTP/1.1 303 ") && again.contains("Location: /?done"), "\(again)")
        }
        async let closed: Void = listener.close()
        #expect(try await meanwhile.receive().hasPrefix("HTTP/1.1 303 "))
        let page = try await exchange("GET /?done HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
        #expect(page.contains("Signed in"))
        await closed
    }

    @Test func refusesAnotherRedirectAfterTheUsedOne() async throws {
        let (listener, port) = try await start()
        let browser = try redirect(port)
        await listener.answer(try await listener.receive(), with: RedirectPage(outcome: .succeeded))
        #expect(try await browser.receive().hasPrefix("HTTP/1.1 303 "))
        async let closed: Void = listener.close()
        let other = try await exchange("GET /?code=ab HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
        #expect(!other.contains("303") && !other.contains("Signed in"), "\(other)")
        _ = try await exchange("GET /?done HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", port: port)
        await closed
    }

    @Test func freesThePortWhenDropped() async throws {
        let port = try await start().port
        #expect(try await eventually { (try? RawConnection(port: port)) == nil })
    }
}
