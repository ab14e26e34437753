// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import BenchmarkSetup
import Glibc
import HTTPTypes
import IdentityClient
import IdentityTesting

// Reads "<work> <times>" lines, does the work that often, and prints the nanoseconds of one repetition: processor and
// clock.

let setup = try await BenchmarkSetup()
/// A shared file has accounts of Entra ID; others are beside it.
let entra = try await BenchmarkSetup(.entra(tenantID: "72f988bf-86f1-41af-91ab-2d7cd011db47"))
var directories: [ScratchDirectory] = []
var apps: [String: PublicClientApplication] = [:]
var removed = 0

@MainActor func app(_ name: String, accounts count: Int, inFile: Bool) async throws -> PublicClientApplication {
    if let app = apps[name] { return app }
    let directory = ScratchDirectory()
    directories.append(directory)
    let file: any TokenCache = name == "hit-shared" ? try directory.shared() : FileTokenCache(directory: directory.path)
    let cache: any TokenCache = inFile ? file : InMemoryTokenCache()
    let app = try await (name == "hit-shared" ? entra : setup).app(cache, accounts: count)
    try await Task.sleep(for: .milliseconds(50))  // Until the files are old enough to be known by their stamps.
    apps[name] = app
    return app
}

@MainActor func work(_ name: String) async throws -> @MainActor () async throws -> Void {
    let account = setup.account(0)
    let hit = SilentParameters(scopes: BenchmarkSetup.scopes, account: account)
    switch name {
    case "hit-memory-1":
        let app = try await app(name, accounts: 1, inFile: false)
        return { _ = try await app.acquireTokenSilently(hit) }
    case "subset-memory-1", "subset-memory-1000":
        let count = name == "subset-memory-1" ? 1 : 1_000
        let app = try await app(name, accounts: count, inFile: false)
        let hit = SilentParameters(scopes: BenchmarkSetup.subset, account: setup.account(count / 2))
        return { _ = try await app.acquireTokenSilently(hit) }
    case "hit-file":
        let app = try await app(name, accounts: 1, inFile: true)
        return { _ = try await app.acquireTokenSilently(hit) }
    case "hit-shared":
        let app = try await app(name, accounts: 1, inFile: true)
        let hit = SilentParameters(scopes: BenchmarkSetup.scopes, account: entra.account(0))
        return { _ = try await app.acquireTokenSilently(hit) }
    case "hit-resource":
        let (app, result) = try await BenchmarkSetup.resource(isBound: false)
        let hit = SilentParameters(scopes: BenchmarkSetup.scopes, account: result.account)
        return { _ = try await app.acquireTokenSilently(hit) }
    case "proof":
        let (_, result) = try await BenchmarkSetup.resource(isBound: true)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/mcp")
        return {
            var request = request
            try result.authorize(&request)
        }
    case "refresh-1", "refresh-1000":
        let app = try await app(name, accounts: name == "refresh-1" ? 1 : 1_000, inFile: true)
        return { _ = try await app.acquireTokenSilently(BenchmarkSetup.forced(account)) }
    case "list-1000":
        let app = try await app(name, accounts: 1_000, inFile: false)
        return { _ = try await app.allAccounts() }
    case "calibration":
        let calibration = Calibration()
        return { await calibration.run() }
    case "remove-1000":
        let app = try await app(name, accounts: 1_000, inFile: true)
        return {
            removed += 1
            try await app.remove(setup.account(removed))
        }
    default:
        throw BenchmarkSetup.Missing()
    }
}

func clockTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

while let line = readLine() {
    let words = line.split(separator: " ")
    guard words.count == 2, let times = Int(words[1]) else { throw BenchmarkSetup.Missing() }
    let work = try await work(String(words[0]))
    try await work()
    let (processor, clock) = (processorTime(), clockTime())
    for _ in 0..<times { try await work() }
    print((processorTime() - processor) / times, (clockTime() - clock) / times)
    fflush(nil)
}
directories = []
