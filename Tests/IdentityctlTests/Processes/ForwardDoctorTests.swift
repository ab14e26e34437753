// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// The doctor's lines about the forwarder. Each test begins with a breakage, and runs the command that is named.
@Suite(.timeLimit(.minutes(1))) struct ForwardDoctorTests {
    private func check(_ finding: JSONObject?, _ state: String, _ words: String = "") {
        #expect(finding?.string("state") == state, "\(finding?.line ?? "nothing was found")")
        let text = (finding?.string("found") ?? "") + " " + (finding?.string("advice") ?? "")
        #expect(words.isEmpty || text.contains(words), "\(text)")
    }

    /// The forwarder runs, and is found.
    private func checkRuns(_ api: ForwardedAPI, _ arguments: String...) async throws {
        let tool = try await api.start()
        let place = try await api.place()
        let words = "http://127.0.0.1:\(place.port)/v1 leads to \(api.address)"
        check(try await api.person.finding("forward api"), "ok", words)
        tool.interrupt()
        _ = try await tool.outcome()
    }

    @Test func saysNothingOfProfilesWithoutTheLine() async throws {
        let api = try await ForwardedAPI()
        #expect(try await api.person.finding("forward work") == nil)
        check(try await api.person.finding("forward api"), "unknown", "no program was told its address yet")
    }

    /// systemctl is a script here, which starts the forwarder.
    @Test func namesAForwarderThatDoesNotRun() async throws {
        let api = try await ForwardedAPI()
        try api.person.makeLink("tools/identityctl", to: try Person.program)
        try api.person.install("systemctl", "case \"$*\" in *enable*) identityctl forward >/dev/null 2>&1 & ;; esac")
        let port = try await api.place().port
        let broken = try await api.person.finding("forward api")
        check(broken, "lack", "no forwarder runs at port \(port)")
        try await api.person.mend(broken)
        let isRunning = try await eventually { try ForwardPlace.isRunning(Variables(api.person.variables)) }
        #expect(isRunning)
        for check in ["forward api", "forward units"] { self.check(try await api.person.finding(check), "ok") }
        #expect(try await api.person.run(["forward", "stop"]).status == 0)
    }

    @Test func namesAPortThatAnotherProgramHas() async throws {
        let api = try await ForwardedAPI()
        let taken = try ListeningSockets.open(hosts: [.ipv4], port: try await api.place().port)
        let broken = try await api.person.finding("forward api")
        check(broken, "lack", "another program has port \(taken.port)")
        try await api.person.mend(broken)
        #expect(try await api.place().port != taken.port)
        try await checkRuns(api)
        withExtendedLifetime(taken) {}
    }

    @Test func namesAForwarderWithAnOlderPort() async throws {
        let api = try await ForwardedAPI()
        let tool = try await api.start()
        let port = try ForwardRecord.freePort()
        #expect(try await api.person.run(["profile", "set", "api", "forward-port=\(port)"]).status == 0)
        let broken = try await api.person.finding("forward api")
        check(broken, "lack", "does not listen at port \(port)")
        try await api.person.mend(broken)
        _ = try await tool.outcome()
        try await checkRuns(api)
    }

    @Test func namesAnAddressThatTheProfileDoesNotServe() async throws {
        let api = try await ForwardedAPI()
        let file = ".config/identityctl/profiles/api.conf"
        let text = try #require(api.person.text(file))
        try api.person.write(text.replacing("serves = \(api.address)\n", with: ""), to: file)
        let broken = try await api.person.finding("forward api")
        check(broken, "lack", "the profile does not serve this address")
        try await api.person.mend(broken)
        try await checkRuns(api)
    }

    @Test func namesAPhantomThatOthersCanRead() async throws {
        let api = try await ForwardedAPI()
        let old = try await api.place().phantom
        let file = "\(api.person.home)/.local/state/identityctl/forward/api.json"
        let breakages: [() -> Int32] = [
            { unsafe chmod(file, 0o640) }, { unsafe geteuid() == 0 ? chown(file, 65534, 65534) : chmod(file, 0o604) },
        ]
        for damage in breakages {
            #expect(damage() == 0)
            let broken = try await api.person.finding("forward api")
            check(broken, "lack", "others can read the phantom in this file")
            try await api.person.mend(broken)
            #expect(try await api.place().phantom != old)
        }
        try await checkRuns(api)
    }

    @Test func warnsOfAPortWithoutAPhantom() async throws {
        let api = try await ForwardedAPI("forward-access = user")
        let tool = try await api.start()
        let warned = try await api.person.finding("forward api")
        check(warned, "unknown", "without the phantom")
        tool.interrupt()
        _ = try await tool.outcome()
        try await api.person.mend(warned)
        try await checkRuns(api)
    }

    @Test func namesAProxyThatWouldGetThePhantom() async throws {
        let api = try await ForwardedAPI()
        _ = try await api.place()
        var person = api.person
        person.variables["http_proxy"] = "http://proxy.test:3128"
        person.variables["no_proxy"] = ".corp"
        let broken = try await person.finding("no_proxy")
        check(broken, "lack", "to your proxy")
        let advice = try #require(broken?.string("advice")?.firstMatch(of: /export no_proxy=(\S+) NO_PROXY=(\S+)/))
        #expect(advice.1 == ".corp,127.0.0.1,::1,localhost" && advice.1 == advice.2)
        person.variables["no_proxy"] = String(advice.1)
        #expect(try await person.finding("no_proxy") == nil)
    }

    @Test func namesUnitsWithOtherPorts() async throws {
        let api = try await ForwardedAPI("forward-port = 8410")
        let person = api.person
        try person.install("systemctl", "exit 0")
        #expect(try await person.run(["forward", "install"]).status == 0)
        check(try await person.finding("forward units"), "ok", "systemd holds the ports of api")
        #expect(try await person.run(["profile", "set", "api", "forward-port=8411"]).status == 0)
        let moved = try await person.finding("forward units")
        check(moved, "lack", "identityctl-forward-api.socket")
        try await person.mend(moved)
        check(try await person.finding("forward units"), "ok")
        let service = ".config/systemd/user/identityctl-forward.service"
        let text = try #require(person.text(service))
        try person.write(text.replacing("ExecStart=/", with: "ExecStart=/old/"), to: service)
        let gone = try await person.finding("forward units")
        check(gone, "lack", "There is no program /old/")
        try await person.mend(gone)
        check(try await person.finding("forward units"), "ok")
        #expect(try await person.run(["profile", "unset", "api", "forward"]).status == 0)
        let useless = try await person.finding("forward units")
        check(useless, "lack", "--undo")
        try await person.mend(useless)
        #expect(try await person.finding("forward units") == nil)
    }
}
