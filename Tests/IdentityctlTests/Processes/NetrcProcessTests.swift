// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// Programs that find a password in a netrc file.
@Suite(.timeLimit(.minutes(1))) struct NetrcProcessTests {
    private static func has(_ program: String) -> Bool { SystemCall.exists("/usr/bin/\(program)") }

    // MARK: - A token that is kept fresh

    @Test func keepsALineForEachHost() async throws {
        let person = try await Person(serves: "https://git.test/a", "https://git.test/b", "http://127.0.0.1:8410")
        #expect(try await person.run(["profile", "set", "work", "username=me"]).status == 0)
        // Each token is renewed after a second.
        person.setup.provider.failAlways(.token, with: .changing("expires_in", to: "3"))
        let first = try await person.login()
        let path = "\(person.home)/netrc"
        let arguments = ["token", "--profile", "work", "--format", "netrc", "--output", path]
        let once = try await person.run(arguments)
        #expect(once.status == 0 && once.output.isEmpty, "\(once)")
        let text = try #require(person.text("netrc"))
        #expect(text.contains("machine git.test login me password \(first)\n"), "\(text)")
        #expect(text.contains("machine 127.0.0.1 login me password \(first)\n"), "\(text)")
        #expect(text.split(separator: "\n").count == 2)
        #expect(try permissions(path) == 0o600)
        let watch = try Tool(arguments + ["--watch"], person.variables)
        let isRenewed = try await eventually {
            person.text("netrc").map { !$0.contains(first) && $0.hasPrefix("machine ") } == true
        }
        #expect(isRenewed)
        #expect(try permissions(path) == 0o600)
        watch.interrupt()
        #expect(try await watch.outcome().status == 0 && person.text("netrc") == nil)
    }

    @Test(.enabled(if: has("curl"))) func curlTakesTheToken() async throws {
        let api = try await ForwardedAPI { request, _ in
            let login = request.headers["Authorization"].map { String($0.dropFirst(6)) } ?? ""
            let pair = Data(base64Encoded: login).map { String(decoding: $0, as: UTF8.self) }
            return .init(status: 200, text: pair ?? "none")
        }
        let token = try await api.person.login("api")
        let arguments = ["token", "--profile", "api", "--format", "netrc", "--output", "\(api.person.home)/netrc"]
        #expect(try await api.person.run(arguments).status == 0)
        let outcome = try await api.person.shell("curl -sS --netrc-file ~/netrc \(api.address)")
        #expect(outcome.output == "oauth2:\(token)", "\(outcome)")
    }

    @Test(
        arguments: [
            (["--format", "netrc"], "--format: no file is named. Give --output FILE."),
            (["--format", "netrc", "--output", "/tmp/none/netrc"], "the profile serves no address"),
            (["--format", "other", "--output", "/tmp/none/netrc"], "other"),
        ]
    )
    func saysWhatIsMissing(_ words: [String], _ reason: String) async throws {
        let refused = try await Person().run(["token", "--profile", "work"] + words)
        #expect(refused.status == 64 && refused.errors.contains(reason), "\(refused)")
    }

    // MARK: - The forwarder's word

    /// - Returns: An API whose forwarder runs, for a person whose `~/.netrc` has the phantom.
    private func integrated(pages: [String: String]) async throws -> (ForwardedAPI, Tool) {
        let api = try await ForwardedAPI(pages: pages)
        try await api.person.login("api")
        let set = try await api.person.integrate("netrc", "--profile", "api")
        let place = try await api.place()
        #expect(set.status == 0 && set.errors.contains("http://127.0.0.1:\(place.port)/v1"), "\(set)")
        #expect(!set.errors.contains(place.phantom))
        return (api, try await api.start())
    }

    @Test(.enabled(if: has("curl") && has("git") && has("pip3"))) func curlGitAndPipShowIt() async throws {
        let id = String(repeating: "0123456789", count: 4)
        let page = #"<html><body><a href="demo-1.2.3.tar.gz">demo-1.2.3.tar.gz</a></body></html>"#
        let pages = ["/v1/a.git/info/refs": "\(id)\trefs/heads/main\n", "/v1/demo/": page]
        let (api, forwarder) = try await integrated(pages: pages)
        let url = "http://127.0.0.1:\(try await api.place().port)/v1"
        let curl = try await api.person.shell("curl -sSn \(url)/a")
        #expect(curl.output == "welcome", "\(curl)")
        let git = try await api.person.shell("git ls-remote \(url)/a.git")
        #expect(git.output == "\(id)\trefs/heads/main\n", "\(git)")
        let words = "index versions demo --disable-pip-version-check --index-url \(url)"
        let pip = try await api.person.shell("/usr/bin/python3 -m pip \(words)")
        #expect(pip.output.contains("demo (1.2.3)"), "\(pip)")
        #expect(api.requests.allSatisfy { $0.headers["Authorization"]?.hasPrefix("Bearer ") == true })
        forwarder.interrupt()
    }

    @Test func theDoctorNamesAnOldPhantom() async throws {
        let (api, forwarder) = try await integrated(pages: [:])
        let person = api.person
        #expect(try await person.finding("netrc")?.string("state") == "ok")
        #expect(try person.mode(of: ".netrc") == 0o600)
        #expect(try await person.run(["forward", "new-phantom", "api"]).status == 0)
        let broken = try await person.finding("netrc")
        #expect(broken?.string("state") == "lack", "\(broken?.line ?? "")")
        try await person.mend(broken)
        #expect(try await person.finding("netrc")?.string("state") == "ok")
        let phantom = try await api.place().phantom
        let text = try #require(person.text(".netrc"))
        #expect(
            text.contains("machine 127.0.0.1 login api password \(phantom)\n") && text.split(separator: "\n").count == 3
        )
        #expect(try await person.integrate("netrc", "--undo").status == 0)
        #expect(person.text(".netrc") == nil)
        forwarder.interrupt()
    }

    @Test func replacesNoLineOfThePersons() async throws {
        let api = try await ForwardedAPI()
        let before = "machine 127.0.0.1 login me password secret\n"
        try api.person.write(before, to: ".netrc")
        let taken = try await api.person.integrate("netrc", "--profile", "api")
        #expect(taken.status == 64 && api.person.text(".netrc") == before, "\(taken)")
    }
}
