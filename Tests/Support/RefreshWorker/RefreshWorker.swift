// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient

/// A program of its own that shares a token cache with others: gets ready, waits for a line, acquires, and tells how
/// it went. It can die at a point that is named in its environment.
///
/// It prints `ready`, and then one JSON object for each acquisition.
@main struct RefreshWorker {
    static func main() async throws {
        let options = try Options(CommandLine.arguments.dropFirst())
        let point = CrashPoint(environment: "REFRESH_WORKER_CRASH")
        var configuration = PublicClientApplication.Configuration(
            clientID: "test-client",
            authority: try .openIDConnect(issuer: options.issuer),
            cache: FatalCache(FileTokenCache(directory: options.directory), diesAt: point)
        )
        configuration.transport = FatalTransport(CurlTransport(), diesAt: point)
        configuration.clock = OffsetClock(offset: options.clockOffset)
        configuration.requestTimeout = .seconds(15)
        let application = try PublicClientApplication(configuration)
        let accounts = try await application.allAccounts()
        print("ready")
        fflush(nil)
        for _ in 0..<options.rounds {
            guard readLine() != nil else { return }
            guard let account = accounts.first(where: { options.username == nil || $0.username == options.username })
            else {
                Report(error: "no_account").write()
                continue
            }
            await Self.act(application, account, options).write()
        }
    }

    private static func act(
        _ application: PublicClientApplication,
        _ account: Account,
        _ options: Options
    ) async -> Report {
        let begin = ContinuousClock.now
        var report = Report()
        do {
            if options.removes {
                try await application.remove(account)
            } else {
                let parameters = SilentParameters(
                    scopes: [Scope(rawValue: options.scope)],
                    account: account,
                    forcesRefresh: options.forces
                )
                let result = try await application.acquireTokenSilently(parameters)
                report.token = result.accessToken
                report.source = result.source.rawValue
                if case .failed(let error) = result.persistence { report.unsaved = error.shortDescription }
            }
        } catch let error as AuthenticationError {
            report.error = error.shortDescription
            report.retryAfter = error.retryAfter.map { Int($0.components.seconds) }
        } catch {
            report.error = "\(type(of: error))"
        }
        let time = begin.duration(to: .now).components
        report.milliseconds = Double(time.seconds) * 1000 + Double(time.attoseconds) / 1e15
        return report
    }
}

/// What the tests read.
struct Report: Codable {
    var token: String?
    var source: String?
    var unsaved: String?
    var error: String?
    var retryAfter: Int?
    var milliseconds = 0.0

    init(error: String? = nil) { self.error = error }

    func write() {
        guard let bytes = try? JSONEncoder().encode(self) else { return }  // strings and numbers: cannot fail
        print(String(decoding: bytes, as: UTF8.self))
        fflush(nil)
    }
}

/// What the worker is told to do.
struct Options {
    struct Unknown: Error { let word: String }

    var directory = ""
    var issuer = ""
    var username: String?
    var scope = "api.read"
    var clockOffset = 0.0
    var rounds = 1
    var forces = false
    var removes = false

    init(_ arguments: some Collection<String>) throws {
        var words = arguments.makeIterator()
        while let word = words.next() {
            switch word {
            case "--force": forces = true
            case "--remove": removes = true
            case "--directory": directory = words.next() ?? ""
            case "--issuer": issuer = words.next() ?? ""
            case "--scope": scope = words.next() ?? ""
            case "--username": username = words.next()
            case "--clock-offset": clockOffset = words.next().flatMap(Double.init) ?? 0
            case "--rounds": rounds = words.next().flatMap(Int.init) ?? 1
            default: throw Unknown(word: word)
            }
        }
    }
}

/// The computer's clock, wrong by a constant.
struct OffsetClock: WallClock {
    let offset: Double

    var now: Date { Date.now.addingTimeInterval(offset) }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
