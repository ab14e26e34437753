// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct CurlCancellationTests {
    /// In a separate process, because the measured work must not wait for other tests.
    @Test func cancellingEndsAStalledTransferAtOnce() async throws {
        await #expect(processExitsWith: .success) {
            let server = try ScriptedServer { _ in [.stall] }
            let transport = CurlTransport()
            let clock = ContinuousClock()
            var latencies: [Duration] = []
            for round in 1...9 {
                let task = Task { try await transport.send(.post(server), body: [1]) }
                #expect(await happens { server.requests.count == round })
                let start = clock.now
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                latencies.append(clock.now - start)
                #expect(await happens { server.openConnections == 0 })
            }
            #expect(latencies.sorted()[4] < .milliseconds(100))
        }
    }

    @Test func aCancelledTaskSendsNothing() async throws {
        let server = try ScriptedServer(answering: "")
        defer { server.close() }
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            _ = try await CurlTransport().send(.get(server), body: nil)
        }

        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.connections == 0)
    }

    @Test func othersGoOnWhenOneIsCancelled() async throws {
        let server = try ScriptedServer { request in
            request.line.contains("stall") ? [.stall] : [.send(Array("HTTP/1.1 204 x\r\n\r\n".utf8))]
        }
        defer { server.close() }
        let transport = CurlTransport()
        let stalled = Task { try await transport.send(.get(server, "/stall"), body: nil) }
        #expect(await happens { server.requests.count == 1 })

        stalled.cancel()
        let (response, _) = try await transport.send(.get(server), body: nil)

        #expect(response.status.code == 204)
        await #expect(throws: CancellationError.self) { try await stalled.value }
    }

    /// An older libcurl waits for a stalled resolver when a transfer is removed, so a new driver takes over.
    @Test func anOlderLibraryGoesOnWithANewConnection() async throws {
        let server = try ScriptedServer { request in
            request.line.contains("stall") ? [.stall] : [.send(Array("HTTP/1.1 204 x\r\n\r\n".utf8))]
        }
        defer { server.close() }
        let transport = CurlTransport.takenForAnOlderLibrary()
        _ = try await transport.send(.get(server), body: nil)
        let stalled = Task { try await transport.send(.get(server, "/stall"), body: nil) }
        #expect(await happens { server.requests.count == 2 })

        stalled.cancel()
        await #expect(throws: CancellationError.self) { try await stalled.value }
        #expect(await happens { server.openConnections == 0 })
        let (response, _) = try await transport.send(.get(server), body: nil)

        #expect(response.status.code == 204)
        #expect(server.connections == 2)
    }

    @Test func oneThousandCancellationsLeaveNothingBehind() async throws {
        await #expect(processExitsWith: .success) {
            let server = try ScriptedServer { request in
                [.wait(milliseconds: 1), .send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))]
            }
            let transport = CurlTransport()
            _ = try await transport.send(.get(server), body: nil)
            let descriptors = openDescriptors()
            var answered = 0
            var cancelled = 0
            for _ in 0..<1000 {
                let task = Task { try await transport.send(.post(server), body: [1, 2, 3]) }
                let deadline = ContinuousClock.now.advanced(by: .microseconds(Int.random(in: 0..<3000)))
                while ContinuousClock.now < deadline { await Task.yield() }
                task.cancel()
                do {
                    _ = try await task.value
                    answered += 1
                } catch is CancellationError {
                    cancelled += 1
                }
            }
            #expect(answered + cancelled == 1000)
            #expect(cancelled > 100)
            #expect(answered > 100)
            // At most eight idle connections are kept, and each has two ends in this process.
            #expect(await happens { openDescriptors() <= descriptors + 16 })
            _ = try await transport.send(.get(server), body: nil)
        }
    }

    @Test func droppedTransportsLeaveNeitherThreadsNorDescriptors() async throws {
        await #expect(processExitsWith: .success) {
            let server = try ScriptedServer(answering: "HTTP/1.1 204 x\r\n\r\n")
            for _ in 0..<10 { _ = try await CurlTransport().send(.get(server), body: nil) }
            #expect(await happens { server.openConnections == 0 })
            let before = (openDescriptors(), threads())
            for _ in 0..<1000 { _ = try await CurlTransport().send(.get(server), body: nil) }

            #expect(server.connections == 1010)
            #expect(await happens { openDescriptors() <= before.0 + 2 })
            #expect(await happens { threads() <= before.1 + 2 })
        }
    }

    @Test func aTransportThatSendsNothingCostsNothing() async throws {
        await #expect(processExitsWith: .success) {
            let before = openDescriptors()
            let count = threads()
            let transports = (0..<100).map { _ in CurlTransport() }
            // Swift's thread pool may grow by a thread or two meanwhile. Threads of a hundred transports would be visible.
            #expect(openDescriptors() <= before + 10)
            #expect(threads() <= count + 10)
            #expect(loadedLibraries().contains { $0.contains("libcurl") } == false)
            #expect(transports.count == 100)
        }
    }

    @Test func aPreparedTransportHasLoadedItsLibraryBeforeItsFirstRequest() async throws {
        await #expect(processExitsWith: .success) {
            let count = threads()
            let transport = CurlTransport()
            for _ in 0..<100 { transport.prepare() }
            #expect(await happens { loadedLibraries().contains { $0.contains("libcurl") } })
            #expect(threads() <= count + 10)

            let server = try ScriptedServer(answering: "HTTP/1.1 204 x\r\n\r\n")
            defer { server.close() }
            #expect(try await transport.send(.get(server), body: nil).0.status == .noContent)
        }
    }

    @Test func anIdleTransportGivesUpItsThreadAndComesBack() async throws {
        let server = try ScriptedServer(answering: "HTTP/1.1 204 x\r\n\r\n")
        defer { server.close() }
        let transport = CurlTransport.givingUp(after: .milliseconds(20))

        _ = try await transport.send(.get(server), body: nil)
        #expect(await happens { server.openConnections == 0 })
        _ = try await transport.send(.get(server), body: nil)

        #expect(server.connections == 2)
    }

    @Test func programsStartedMeanwhileInheritNoConnection() async throws {
        await #expect(processExitsWith: .success) {
            let server = try ScriptedServer(answering: "HTTP/1.1 204 x\r\n\r\n")
            let before = inheritableSockets()
            let transport = CurlTransport()
            _ = try await transport.send(.get(server), body: nil)
            #expect(server.openConnections == 1)
            #expect(inheritableSockets() == before)
            _ = try await transport.send(.get(server), body: nil)
        }
    }
}
