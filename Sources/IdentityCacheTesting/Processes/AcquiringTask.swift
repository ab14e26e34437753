// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient

/// A worker task on a sign-in: acquires a token silently, or signs out.
struct AcquiringTask: WorkerTask {
    private let orders: WorkerOrders
    private let stop: WorkerStop
    private let transport: CrashingTransport
    private let application: PublicClientApplication
    private let account: Result<Account?, any Error>

    init(_ orders: WorkerOrders, _ cache: any TokenCache) async throws {
        stop = WorkerStop(orders)
        var configuration = ClientConfiguration(
            clientID: ClientID(rawValue: orders.clientID),
            authority: try orders.authority,
            cache: CrashingCache(cache, stop, tellsThatItWaits: orders.tellsThatItWaits)
        )
        configuration.cacheGroup = try CacheGroup(orders.group)
        transport = CrashingTransport(CurlTransport(), stop)
        configuration.transport = orders.hasOwnTransport ? OwnTransport(base: transport) : transport
        configuration.clock = OffsetClock(offset: orders.clockOffset)
        configuration.requestTimeout = .seconds(orders.requestTimeout)
        self.orders = orders
        application = try PublicClientApplication(configuration)
        do {
            let accounts = try await application.allAccounts()
            account = .success(accounts.first { orders.username == nil || $0.username == orders.username })
        } catch {
            account = .failure(error)  // reported when it is told to go: a process that ends says nothing
        }
    }

    func report() async -> WorkerReport {
        var (report, failures) = (WorkerReport(), 0)
        for _ in 0..<orders.times {
            report = await attempt()
            if report.error != nil { failures += 1 }
        }
        report.failures = failures
        report.requests = transport.posts
        return report
    }

    func goOn() { stop.goOn() }

    private func attempt() async -> WorkerReport {
        let begin = ContinuousClock.now
        var report = WorkerReport()
        do {
            guard let account = try account.get() else { return WorkerReport(error: "no_account") }
            if orders.removes { try await application.remove(account) } else { try await acquire(account, &report) }
        } catch let error as AuthenticationError {
            report.error = error.shortDescription
            report.retryAfter = error.retryAfter.map { Int($0.components.seconds) }
        } catch {
            report.error = "\(type(of: error))"
        }
        report.milliseconds = begin.duration(to: .now) / .milliseconds(1)
        return report
    }

    private func acquire(_ account: Account, _ report: inout WorkerReport) async throws {
        let parameters = SilentParameters(
            scopes: [Scope(rawValue: orders.scope)],
            account: account,
            forcesRefresh: orders.forces
        )
        let result = try await application.acquireTokenSilently(parameters)
        report.token = result.accessToken
        report.source = result.source.rawValue
        if case .failed(let error) = result.persistence { report.unsaved = error.shortDescription }
    }
}

/// A program's own transport around another one.
private struct OwnTransport: HTTPTransport {
    let base: any HTTPTransport

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        try await base.send(request, body: body)
    }
}

/// The computer's clock, shifted by a constant.
private struct OffsetClock: WallClock {
    let offset: Double

    var now: Date { Date.now.addingTimeInterval(offset) }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
