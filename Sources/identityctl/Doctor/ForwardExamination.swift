// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import TokenForwarding

/// The doctor's look at the forwarder: the profiles with a line `forward`, their ports and phantoms, and the units.
enum ForwardExamination {
    /// Returns a finding for each route, and what stands in the way of all.
    static func findings(_ variables: Variables) async throws -> [Finding] {
        // Without a home directory there is none.
        guard let directory = try? ProfileDirectory(variables) else { return [] }
        let running = try await running(variables)
        var (findings, ports) = ([Finding](), [String: UInt16]())
        for name in try directory.names() {
            // What else is wrong with a profile is said by its own finding.
            guard let profile = try? directory.profile(named: name), profile.given("forward") != nil else { continue }
            let check = "forward \(name)"
            do {
                guard let lines = try ForwardLines(profile) else { continue }
                let record = try ForwardRecord.found(for: lines, in: directory)
                ports[name.text] = record?.port
                var finding = record.map { look(check, lines, $0.port, running) }
                finding?.profiles = [name.text]
                findings.append(finding ?? .unknown(check, "no program was told its address yet"))
            } catch {
                findings.append(.lack(check, "it cannot be used", error))
            }
        }
        let hosts = ports.isEmpty ? nil : ForwardRecipe.missingExceptions { variables[$0] }
        if let hosts {
            let found = "programs would send requests for the forwarder to your proxy"
            findings.append(.lack("no_proxy", found, "Set both: export no_proxy=\(hosts) NO_PROXY=\(hosts)", .usage))
        }
        return try findings + [units(ports, variables)].compactMap(\.self)
    }

    /// The addresses of the forwarder that runs, by the names of the routes; `nil` if none runs.
    private static func running(_ variables: Variables) async throws -> [String: String]? {
        guard (try? ForwardPlace.isRunning(variables)) == true else { return nil }
        guard let answer = try? await ForwardPlace.ask("status", variables) else { return [:] }
        try Task.checkCancellation()
        return (answer.array("routes") ?? []).reduce(into: [:]) { found, route in
            guard case .object(let route) = route, let name = route.string("route") else { return }
            found[name] = route.string("address")
        }
    }

    private static func look(
        _ check: String,
        _ lines: ForwardLines,
        _ port: UInt16,
        _ running: [String: String]?
    ) -> Finding {
        let url = ForwardPlace.url(of: lines, at: port)
        if running?[lines.name.text] == url {
            let found = "\(url) leads to \(lines.address.text)"
            guard lines.access == .user else { return .ok(check, found) }
            var finding = Finding.unknown(
                check,
                "\(found), for programs of yours without the phantom too: forward-access"
            )
            finding.advice = "To ask for the phantom, run: identityctl profile unset \(lines.name) forward-access"
            return finding
        }
        if running?[lines.name.text] == nil, (try? ForwardRecord.open(port, advice: "")) == nil {
            let free = (try? ForwardRecord.freePort()).map { "\($0)" } ?? "NUMBER"
            let advice = "End it, or run: identityctl profile set \(lines.name) forward-port=\(free)"
            return .lack(check, "another program has port \(port)", advice, .other)
        }
        guard running != nil else {
            return .lack(
                check,
                "no forwarder runs at port \(port)",
                "To have systemd start it, run: identityctl forward install. Without systemd: identityctl forward",
                .other
            )
        }
        let advice = "It reads the lines when it starts: end it, and start it anew. Run: identityctl forward stop"
        return .lack(check, "the forwarder that runs does not listen at port \(port)", advice, .other)
    }

    private static func units(_ ports: [String: UInt16], _ variables: Variables) throws -> Finding? {
        let units = ForwardUnits(in: try ForwardUnits.directory(variables))
        guard !units.texts.isEmpty else { return nil }
        let check = "forward units"
        let wanted = try ForwardUnits(ports, program: "/", hasIPv6: ForwardUnits.hasIPv6)
        let wrong = Set(units.sockets + wanted.sockets).filter { units.texts[$0] != wanted.texts[$0] }.sorted()
        if ports.isEmpty || !wrong.isEmpty {
            let advice = "Run: identityctl forward install\(ports.isEmpty ? " --undo" : "")"
            let found = "they do not hold the ports of the profiles: \(wrong.joined(separator: ", "))"
            return .lack(check, found, advice, .other)
        }
        guard let obstacle = try Home(variables).obstacle(toStarting: units.program ?? "") else {
            return .ok(check, "systemd holds the ports of \(ports.keys.sorted().joined(separator: ", "))")
        }
        return .lack(
            check,
            "systemd cannot start the forwarder",
            "\(obstacle) Run: identityctl forward install",
            .other
        )
    }
}
