// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import identityctl

/// Tools whose lines are shown, because a person chooses the account that they belong to; and containers' file.
@Suite struct IntegrateShownTests {
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("mutt", ".muttrc", #"set imap_oauth_refresh_command = "identityctl token --profile work""#),
            (
                "neomutt", ".config/neomutt/neomuttrc",
                #"set smtp_oauth_refresh_command = "identityctl token --profile work""#
            ),
            ("mbsync", ".mbsyncrc", #"PassCmd "identityctl token --profile work""#),
            ("aerc", ".config/aerc/accounts.conf", "source-cred-cmd = identityctl token --profile work"),
            ("rclone", ".config/rclone/rclone.conf", "bearer_token_command = identityctl token --profile work"),
        ]
    )
    func showsTheLinesAndKnowsThem(_ tool: String, _ file: String, _ line: String) async throws {
        let person = try await Person()
        try person.makeLink("tools/identityctl", to: try Person.program)
        try person.write("x\n", to: file)
        let shown = try await person.integrate(tool, "--profile", "work")
        #expect(shown.status == 0 && shown.errorLines.contains(line), "\(shown)")
        #expect(shown.errors.contains("/\(file)") && person.text(file) == "x\n", "\(shown)")
        #expect(try await !person.run(["doctor", "--without-browser"]).output.contains(tool))
        try person.write("# \(line)\n", to: file)
        #expect(try await !person.run(["doctor", "--without-browser"]).output.contains(tool))
        try person.write("\(line)\n", to: file)
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("identityctl login --profile work"), "\(doctor)")
        let undone = try await person.integrate(tool, "--undo")
        #expect(undone.errors.contains("Remove from") && person.text(file) == "\(line)\n", "\(undone)")
    }

    @Test(.timeLimit(.minutes(1)), arguments: [nil, "libkdexoauth2.so.3", "liboauthbearer.so"])
    func namesThePackageOfMbsyncsModule(_ module: String?) async throws {
        var person = try await Person()
        try person.makeLink("tools/identityctl", to: try Person.program)
        person.variables["SASL_PATH"] = "\(person.home)/sasl2"
        if let module { try person.write("", to: "sasl2/\(module)") }
        try person.write("PassCmd \"identityctl token --profile work\"\n", to: ".mbsyncrc")
        _ = try await person.login()
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("libsasl2-modules-kdexoauth2") == (module == nil), "\(doctor)")
        let shown = try await person.integrate("mbsync", "--profile", "work")
        #expect(shown.errors.contains("libsasl2-modules-kdexoauth2") == (module == nil), "\(shown)")
    }

    @Test(.timeLimit(.minutes(1))) func keepsTheLinkThatDockerNeeds() async throws {
        let person = try await Person(serves: "https://registry.test")
        let before = #"{"auths":{"a.test":{"auth":"eDp5"}}}"#
        try person.write(before, to: ".config/containers/auth.json")
        #expect(try await person.integrate("containers", "--profile", "work").status == 0)
        #expect(try await person.integrate("docker", "--profile", "work").status == 0)
        let object = try JSONObject(parsing: Array(try #require(person.text(".config/containers/auth.json")).utf8))
        #expect(object.object("credHelpers")?.string("registry.test") == "identityctl")
        #expect(try await person.run(["doctor", "--without-browser"]).output.contains("containers"))
        #expect(try await person.integrate("docker", "--undo").status == 0)
        #expect(person.target(of: ".local/bin/docker-credential-identityctl") != nil)
        #expect(try await person.integrate("containers", "--undo").status == 0)
        #expect(person.target(of: ".local/bin/docker-credential-identityctl") == nil)
        let after = try JSONObject(parsing: Array(try #require(person.text(".config/containers/auth.json")).utf8))
        #expect(after == (try JSONObject(parsing: Array(before.utf8))))
    }

    @Test(.timeLimit(.minutes(1))) func answersGoogleInBothForms() async throws {
        let person = try await Person()
        let words = ["helper", "google", "--profile", "work"]
        let signedOut = try await person.run(words)
        let failure = try JSONObject(parsing: Array(signedOut.output.utf8))
        #expect(signedOut.status == 1 && failure.bool("success") == false && failure.integer("version") == 1)
        #expect(failure.string("message")?.contains("identityctl login --profile work") == true, "\(signedOut)")
        #expect(failure.string("code")?.isEmpty == false)
        _ = try await person.login()
        let given = try await person.run(words)
        let answer = try JSONObject(parsing: Array(given.output.utf8))
        let idToken = try await person.run(["token", "--profile", "work", "--id-token"]).output.dropLast()
        #expect(given.status == 0 && answer.bool("success") == true && answer.string("id_token") == String(idToken))
        #expect(answer.string("token_type") == "urn:ietf:params:oauth:token-type:id_token")
        #expect((answer.integer("expiration_time") ?? 0) > 1_700_000_000)
        var other = person
        other.variables["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"] = "urn:ietf:params:oauth:token-type:saml2"
        let refused = try await other.run(words)
        #expect(refused.status == 1 && refused.output.contains("subject_token_type"), "\(refused)")
    }
}
