// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import Logging
import Testing

@testable import identityctl

@Suite struct StoreAdviceTests {
    /// Read once: a debug build checks the declarations of all options each time.
    private static let options = Result {
        try SharedOptionsTests.options("token", "--group", "g", "--cache", "auto", "--scope", "s")
    }

    private func advice(
        _ code: AuthenticationError.Code,
        _ remembered: TokenLocation? = nil,
        isUsed: Bool = true,
        hasKeyFile: Bool = false,
        hasScreen: Bool = true
    ) throws -> String? {
        return StoreAdvice.text(
            for: AuthenticationError(code, "Its reason."),
            remembered: remembered,
            isUsed: isUsed,
            hasKeyFile: hasKeyFile,
            hasScreen: hasScreen,
            try Self.options.get()
        )
    }

    /// One command, which makes the key if there is none and needs no browser where there is no screen.
    @Test(arguments: [
        AuthenticationError.Code.keyringNoService, .keyringNoSessionBus, .keyringLibraryMissing,
        .keyringNoDefaultCollection, .keyringAccessDenied,
    ])
    func namesEncryptedFilesFirstWhereThereIsNoKeyring(code: AuthenticationError.Code) throws {
        let make = "identityctl cache create-key ~/.config/identityctl/token.key && "
        let signIn =
            "identityctl login --group g --scope s --cache 'encrypted:key-file=~/.config/identityctl/token.key'"
        let advice = try #require(try advice(code))
        #expect(advice.hasSuffix(": \(make)\(signIn)"), "\(advice)")
        #expect(advice.contains("in clear text") && advice.contains("for this client id or group"))
        #expect(try self.advice(code, hasScreen: false)?.hasSuffix(": \(make)\(signIn) --manual") == true)
        #expect(try self.advice(code, hasKeyFile: true)?.hasSuffix("remembered: \(signIn)") == true)
    }

    /// The keyring exists: once it is open, tokens need not be kept in clear text.
    @Test(arguments: [AuthenticationError.Code.keyringLocked, .keyringTimedOut, .keyringPromptDismissed, .cache])
    func advisesNothingForAKeyringThatExists(code: AuthenticationError.Code) throws {
        for store in [nil, TokenLocation.encryptedFile, .keyring, .file] { #expect(try advice(code, store) == nil) }
    }

    /// Most of these states pass.
    @Test(arguments: [
        AuthenticationError.Code.keyringNoService, .keyringNoSessionBus, .keyringLocked, .cacheKeyUnavailable,
        .cacheUndecryptable, .cache,
    ])
    func advisesNothingThatLosesASignIn(code: AuthenticationError.Code) throws {
        for store in [TokenLocation.encryptedFile, .keyring, .file, .encryptedFile(key: try KeyFile(path: "/k"))] {
            for isUsed in [true, false] {
                let advice = try advice(code, store, isUsed: isUsed) ?? ""
                #expect(!advice.contains("--discard") && !advice.contains("login"), "\(advice)")
            }
        }
    }

    @Test(arguments: [AuthenticationError.Code.keyringNoService, .cacheKeyUnavailable])
    func sendsToTheDoctorWhereTheTokensNeedTheKeyring(code: AuthenticationError.Code) throws {
        #expect(try advice(code, .encryptedFile)?.hasSuffix("identityctl doctor --group g") == true)
        #expect(try advice(code, .keyring)?.hasSuffix("identityctl doctor --group g") == true)
        #expect(try advice(code, .file) == nil)
    }

    @Test(arguments: [AuthenticationError.Code.cacheKeyUnavailable, .cacheUndecryptable])
    func sendsToTheDoctorWhereTheKeyFileIsLost(code: AuthenticationError.Code) throws {
        let store = TokenLocation.encryptedFile(key: try KeyFile(path: "/k"))
        let advice = try #require(try advice(code, store))
        #expect(advice.contains("'encrypted:key-file=/k'") && !advice.contains("keyring"))
        #expect(advice.hasSuffix("identityctl doctor --group g"))
        #expect(try self.advice(.cachePermissions, store) == nil)
    }

    /// Only the doctor names the last resort, and not where the tokens are only out of reach.
    @Test(arguments: [
        (AuthenticationError.Code.cacheKeyUnavailable, true), (.cacheUndecryptable, true), (.keyringNoService, true),
        (.keyringLocked, false), (.keyringTimedOut, false), (.cache, false),
    ])
    func namesTheLastResortInTheDoctor(code: AuthenticationError.Code, isNamed: Bool) throws {
        let options = try SharedOptionsTests.options("token", "--group", "g")
        for store in [TokenLocation.encryptedFile, .encryptedFile(key: try KeyFile(path: "/k"))] {
            let finding = Examination.tokenStore(store, .failure(AuthenticationError(code, "Its reason.")), options)
            let advice = try #require(finding.advice)
            #expect(advice.hasPrefix("Its reason."))
            #expect(advice.hasSuffix("identityctl logout --discard --group g") == isNamed, "\(advice)")
            #expect(advice.contains("--discard") == isNamed)
        }
    }

    @Test func saysHowToMakeAKey() throws {
        #expect(try advice(.cacheKeyUnavailable)?.contains("identityctl cache create-key PATH") == true)
    }

    @Test func saysHowToUseAnotherStore() throws {
        for store in [TokenLocation.file, .encryptedFile] {
            let advice = try #require(try advice(.cache, store, isUsed: false))
            #expect(advice.hasSuffix("identityctl cache move --to STORE --group g"))
        }
    }

    /// The error of a proxy names its address, and this the place to change.
    @Test func namesThePlaceOfAProxy() {
        let error = AuthenticationError(.proxyFailed, "It does not answer.")
        func advice(_ variables: [String: String], _ option: String? = nil) -> String? {
            let console = Screen().console(columns: nil)
            let session = Session(
                TokenRoute(variables: Variables(variables)),
                console: console,
                isJSON: false,
                logLevel: .critical
            )
            return session.adviceOnProxy(error, option)
        }
        #expect(advice(["IDENTITYCTL_PROXY": "http://p"])?.hasSuffix("stands in IDENTITYCTL_PROXY.") == true)
        #expect(advice([:], "http://p")?.hasSuffix("stands in --proxy.") == true && advice([:]) == nil)
    }
}
