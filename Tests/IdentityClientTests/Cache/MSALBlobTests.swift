// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// Reading and changing one account in a cache of MSAL's unified schema.
@Suite struct MSALBlobTests {
    static let client = "11111111-2222-3333-4444-555555555555"
    static let home = "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b"
    static let tenant = "bbbbbbbb-0000-0000-0000-00000000000b"

    private func blob(_ text: String) throws -> MSALBlob { try MSALBlob(parsing: Array(text.utf8)) }

    private func only(_ blob: MSALBlob, client: String = client) throws -> MSALAccount {
        let accounts = blob.accounts(of: client)
        #expect(accounts.count == 1)
        return try #require(accounts.first?.value)
    }

    private func replaced(_ text: String, _ pairs: KeyValuePairs<String, String>) -> String {
        pairs.reduce(text) { $0.replacing($1.key, with: $1.value) }
    }

    @Test(arguments: MSALSamples.all.indices) func keepsEveryMemberInItsPlace(_ index: Int) throws {
        let sample = MSALSamples.all[index]
        let original = try JSONObject(parsing: Array(sample.utf8))
        #expect(try JSONObject(parsing: blob(sample).serialized()) == original)
    }

    @Test func readsAnAccountOfMSALPython() throws {
        let account = try only(blob(MSALSamples.family)).credentials
        #expect(account.accountID.rawValue == Self.home)
        #expect(account.partition == "entra|login.microsoftonline.com")
        #expect(account.account.username == "alice@contoso.com")
        // 'organizations' is MSAL Python's word for the account's own tenant.
        #expect(account.profiles.map(\.realm) == [Self.tenant])
        #expect(account.profiles[0].isHomeTenant && account.profiles[0].idToken == "<id_token jwt>")
        #expect(account.refreshToken?.secret == "RT1" && account.refreshToken?.familyID == "1")
        #expect(account.accessTokens.map(\.secret) == ["AT1"])
        #expect(account.accessTokens[0].realm == Self.tenant && account.accessTokens[0].refreshOn == 1_700_001_800)
    }

    @Test(
        arguments: [
            (#""extended_expires_on":"1700007200""#, 1_700_007_200),
            (#""extended_expires_on":1700007200.5"#, 1_700_007_200),
            (#""ext_expires_on":"1700007200""#, 1_700_007_200), (#""extended_expires_on":"x""#, nil),
        ] as [(String, Int64?)]
    )
    func readsTheExtendedLifetimeOfAllLibraries(member: String, expected: Int64?) throws {
        let text = MSALSamples.family.replacing(#""extended_expires_on":"1700003599""#, with: member)
        let token = try #require(try only(blob(text)).credentials.accessTokens.first)
        #expect(token.extendedExpiresOn == expected)
    }

    @Test func findsAPersonalAccountOfConsumers() throws {
        let account = try only(blob(MSALSamples.personal)).credentials
        #expect(account.accessTokens.map(\.realm) == [CloudInstances.consumersTenantID])
        #expect(account.account.username == "bob@outlook.com")
    }

    @Test func findsNoAccountWhoseIssuerTheSchemaDoesNotTell() throws {
        for sample in [
            MSALSamples.b2c, MSALSamples.adfs, MSALSamples.openIDConnect, MSALSamples.externalID,
            MSALSamples.applicationOnly,
        ] {
            #expect(try blob(sample).accounts(of: Self.client).isEmpty)
            #expect(try blob(sample).accounts(of: "my-Client").isEmpty)
        }
    }

    @Test func readsTheSpellingsOfOtherLibraries() throws {
        // .NET: another alias of the cloud, the tenant itself, its own key, no token_type; upper-case identifiers.
        let text = replaced(
            MSALSamples.family,
            [
                #""environment":"login.microsoftonline.com""#: #""environment":"login.windows.net""#,
                #""realm":"organizations""#: #""realm":"BBBBBBBB-0000-0000-0000-00000000000b""#,
                #","token_type":"Bearer""#: "", "--mail.read user.read openid profile": "----",
                #""client_id":"1"#: #""client_id":"1"#,
            ]
        )
        let account = try only(blob(text), client: Self.client.uppercased()).credentials
        #expect(account.partition == "entra|login.microsoftonline.com")
        #expect(account.accessTokens.map(\.realm) == [Self.tenant] && account.refreshToken?.secret == "RT1")
    }

    /// Values that make other libraries crash or forget everything.
    @Test(arguments: [
        (#""expires_on":"1700003599","#, #""expires_on":null,"#),
        (#""target":"Mail.Read User.Read openid profile","realm""#, #""target":null,"realm""#),
        (#""secret":"AT1","#, ""), (#""cached_at":"1700000000","#, #""cached_at":"soon","#),
        (#""credential_type":"AccessToken","#, #""credential_type":"ATExt","#),
        (#""token_type":"Bearer""#, #""token_type":"pop""#),
        (#""token_type":"Bearer""#, #""token_type":"Bearer","kid":"k""#),
    ])
    func leavesAnOddAccessTokenAlone(_ good: String, _ odd: String) throws {
        var changed = try blob(replaced(MSALSamples.family, [good: odd]))
        let account = try only(changed)
        #expect(account.credentials.accessTokens.isEmpty && account.credentials.refreshToken?.secret == "RT1")
        let before = changed.entities(.accessToken)
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT2"
        changed.write(credentials, over: account)
        #expect(changed.entities(.accessToken) == before && before.count == 1)
    }

    /// Other programs hand out every token of the section of access tokens as a bearer token.
    @Test func keepsABoundTokenApart() throws {
        var changed = try blob(MSALSamples.family)
        let account = try only(changed)
        let before = changed.entities(.accessToken)
        var credentials = account.credentials
        let plain = try #require(credentials.accessTokens.first)
        let bound = CachedAccessToken(
            secret: "bound",
            realm: plain.realm,
            scopes: plain.scopes,
            requestedScopes: plain.requestedScopes,
            tokenType: "pop",
            keyID: "key",
            cachedAt: plain.cachedAt,
            expiresOn: plain.expiresOn,
            rule: Authority.scopeRule(forPartition: credentials.partition)
        )
        credentials.accessTokens.append(bound)
        changed.write(credentials, over: account)
        #expect(changed.entities(.accessToken) == before)
        #expect(changed.entities(.boundAccessToken).map { $0.json.string("kid") } == ["key"])
        let again = try only(changed)
        #expect(again.credentials.accessTokens == [plain, bound])

        credentials.accessTokens = [plain]
        changed.write(credentials, over: again)
        #expect(changed.entities(.boundAccessToken).isEmpty && changed.entities(.accessToken) == before)
        changed.write(again.credentials, over: try only(changed))
        changed.signOut(again.name)
        #expect(changed.entities(.boundAccessToken).isEmpty)
    }

    @Test func readsTimesThatAreNumbersOrFractions() throws {
        let text = replaced(
            MSALSamples.family,
            [
                #""expires_on":"1700003599""#: #""expires_on":1700003599"#,
                #""last_modification_time":"1700000000""#: #""last_modification_time":"1700000000.123""#,
            ]
        )
        let account = try only(blob(text)).credentials
        #expect(account.accessTokens.map(\.expiresOn) == [1_700_003_599])
        #expect(account.refreshToken?.modifiedAt == 1_700_000_000)
    }

    @Test func changesNothingIfNothingChanged() throws {
        for sample in [MSALSamples.family, MSALSamples.personal] {
            var changed = try blob(sample)
            let account = try only(changed)
            changed.write(
                try AccountCredentials(decoding: account.credentials.encoded()) {
                    Authority.scopeRule(forPartition: $0)
                },
                over: account
            )
            #expect(try changed == blob(sample))
        }
    }

    /// MSAL for .NET and Objective-C read this time too.
    @Test(arguments: [(nil, "1700003600"), (1_700_007_200, "1700007200")] as [(Int64?, String)])
    func writesTheExtendedLifetime(end: Int64?, text: String) throws {
        var changed = try blob(MSALSamples.family)
        let account = try only(changed)
        var credentials = account.credentials
        credentials.accessTokens = [
            CachedAccessToken(
                secret: "AT2",
                realm: Self.tenant,
                scopes: ["User.Read"],
                requestedScopes: ["User.Read"],
                tokenType: "Bearer",
                cachedAt: 1_700_000_000,
                expiresOn: 1_700_003_600,
                extendedExpiresOn: end,
                rule: ScopeRule(ignoresCase: true)
            )
        ]
        changed.write(credentials, over: account)
        let written = try #require(changed.entities(.accessToken).first { $0.json.string("secret") == "AT2" })
        #expect(written.json.string("extended_expires_on") == text)
        #expect(try only(changed).credentials.accessTokens.map(\.extendedExpiresOn) == [end])
    }

    @Test func writesANewRefreshTokenWhereTheOldOneIs() throws {
        let text = MSALSamples.family.replacing(
            #""RefreshToken":{"#,
            with: #""Other":[1.50,{"x":null}],"RefreshToken":{"odd":7,"#
        ).replacing(#""secret":"RT1","#, with: #""secret":"RT1","client_info":"kept","#)
        var changed = try blob(text)
        let account = try only(changed)
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT2"
        credentials.refreshToken?.modifiedAt = 1_800_000_000
        credentials.accessTokens = []
        changed.write(credentials, over: account)
        // Only the secret, the time and the access token differ.
        let wanted = try blob(
            text.replacing(#""secret":"RT1""#, with: #""secret":"RT2""#).replacing(
                #""last_modification_time":"1700000000""#,
                with: #""last_modification_time":"1800000000""#
            )
        )
        #expect(changed.root.members.map(\.name) == wanted.root.members.map(\.name))
        for (member, value) in wanted.root.members where member != "AccessToken" {
            #expect(changed.root[member] == value)
        }
        #expect(changed.entities(.accessToken).isEmpty)
    }

    @Test func choosesTheNewestOfSeveralRefreshTokensAndRemovesTheOthers() throws {
        let text = MSALSamples.certificate.replacing(
            #""target":"C","last_modification_time":"1700000000""#,
            with: #""target":"C","last_modification_time":"1700000009""#
        )
        var changed = try blob(text)
        let name = try #require(MSALAccountName(account: Self.accountEntity, clientID: Self.client))
        // Without an Account entity, only a note makes it an account.
        #expect(changed.accounts(of: Self.client).isEmpty)
        changed.setNote(name.name, name.note(signInID: "one"))
        let account = try only(changed)
        #expect(account.credentials.refreshToken?.secret == "RT-C")
        #expect(account.credentials.accessTokens.map(\.secret) == ["AT-b"])  // the other is for SSH
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT-new"
        changed.write(credentials, over: account)
        #expect(changed.entities(.refreshToken).map { $0.json.string("secret") } == ["RT-new"])
        #expect(changed.entities(.accessToken).count == 2)
    }

    static let accountEntity = JSONObject([
        ("home_account_id", .string(home)), ("environment", .string("login.microsoftonline.com")),
    ])

    @Test func writesANewAccountWithTheKeysOfMSALPython() throws {
        let source = try only(blob(MSALSamples.family)).credentials
        var changed = MSALBlob()
        changed.write(source, over: nil)
        let prefix = "\(Self.home)-login.microsoftonline.com"
        #expect(changed.entities(.account).map(\.key) == ["\(prefix)-\(Self.tenant)"])
        #expect(changed.entities(.refreshToken).map(\.key) == ["\(prefix)-refreshtoken-\(Self.client)--"])
        #expect(changed.entities(.idToken).map(\.key) == ["\(prefix)-idtoken-\(Self.client)-\(Self.tenant)-"])
        #expect(
            changed.entities(.accessToken).map(\.key)
                == ["\(prefix)-accesstoken-\(Self.client)-\(Self.tenant)-mail.read user.read openid profile"]
        )
        #expect(changed.entities(.appMetadata).map(\.key) == ["appmetadata-login.microsoftonline.com-\(Self.client)"])
        #expect(changed.entities(.appMetadata)[0].json.string("family_id") == "1")
        #expect(try only(changed).credentials == source)
        #expect(changed.noteNames.isEmpty)
    }

    @Test func keepsItsOwnSignInApartFromOthers() throws {
        var source = try only(blob(MSALSamples.family)).credentials
        source.signInID = "own"
        var changed = MSALBlob()
        changed.write(source, over: nil)
        #expect(try only(changed).credentials == source)
        changed.signOut(MSALAccountName(source))
        #expect(changed.noteNames.isEmpty && changed.entities(.account).isEmpty)
        #expect(changed.entities(.appMetadata).count == 1)
    }

    @Test func usesATokenOfTheFamilyUntilItIsRefused() throws {
        var changed = try blob(MSALSamples.family)
        let other = "22222222-2222-3333-4444-555555555555"
        let account = try only(changed, client: other)
        #expect(account.credentials.refreshToken?.secret == "RT1" && account.credentials.accessTokens.isEmpty)
        // Redeemed: the client gets a token of its own, and the other program keeps its token.
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT-own"
        credentials.refreshToken?.modifiedAt = 1_700_000_500
        var redeemed = changed
        redeemed.write(credentials, over: account)
        #expect(redeemed.entities(.refreshToken).map { $0.json.string("secret") } == ["RT1", "RT-own"])
        #expect(try only(redeemed, client: other).credentials.refreshToken?.secret == "RT-own")
        // Refused: not sent again, and not touched.
        credentials = account.credentials
        credentials.refreshToken = nil
        let before = changed.entities(.refreshToken)
        changed.write(credentials, over: account)
        #expect(changed.entities(.refreshToken) == before)
        #expect(changed.accounts(of: other).isEmpty)
        #expect(try only(changed).credentials.refreshToken?.secret == "RT1")
    }

    /// The provider answered `client_mismatch`: every library then knows that the client is not in the family.
    @Test(arguments: [true, false]) func notesThatTheClientIsNotInTheFamily(_ isKnown: Bool) throws {
        let other = "22222222-2222-3333-4444-555555555555"
        let member =
            #""AppMetadata":{"x":{"client_id":"\#(other)","environment":"login.windows.net","family_id":"1","a":"b"},"#
        var changed = try blob(
            isKnown ? MSALSamples.family.replacing(#""AppMetadata":{"#, with: member) : MSALSamples.family
        )
        let account = try only(changed, client: other)
        let before = changed.entities(.refreshToken)
        var credentials = account.credentials
        credentials.refreshToken?.familyID = nil
        changed.write(credentials, over: account)
        #expect(changed.entities(.refreshToken) == before)
        #expect(changed.accounts(of: other).isEmpty && changed.noteNames.isEmpty)
        let entries = changed.entities(.appMetadata).filter { $0.json.has("client_id", other) }
        #expect(entries.map { $0.json.string("family_id") } == [""])
        #expect(entries.first?.json.string("a") == (isKnown ? "b" : nil))
        #expect(try only(changed).credentials.refreshToken?.secret == "RT1")
    }

    @Test func usesNoTokenOfTheFamilyIfTheClientIsKnownNotToBelongToIt() throws {
        let other = "22222222-2222-3333-4444-555555555555"
        let text = MSALSamples.family.replacing(
            #""AppMetadata":{"#,
            with: #""AppMetadata":{"x":{"client_id":"\#(other)","environment":"login.windows.net"},"#
        )
        #expect(try blob(text).accounts(of: other).isEmpty)
    }

    @Test func signsOutOneClientOnly() throws {
        let other = "22222222-2222-3333-4444-555555555555"
        var changed = try blob(MSALSamples.family)
        let account = try only(changed, client: other)
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT-own"
        changed.write(credentials, over: account)
        changed.signOut(account.name)
        #expect(changed.entities(.refreshToken).map { $0.json.string("secret") } == ["RT1"])
        #expect(changed.entities(.account).count == 1)
        // The family's token would sign the person in again.
        #expect(changed.accounts(of: other).isEmpty)
        #expect(try only(changed).credentials.refreshToken?.secret == "RT1")
        // A new sign-in ends that.
        credentials.signInID = "again"
        changed.write(credentials, over: nil)
        #expect(try only(changed, client: other).credentials.signInID == "again")
    }

    /// The schema tells no issuer: an account of another provider is kept beside the file.
    @Test(
        arguments: [
            ("entra|login.microsoftonline.com", "uid.utid", true), ("entra|login.example.test:8443", "uid.utid", true),
            ("externalid|contoso.ciamlogin.com|contoso.onmicrosoft.com", "uid.utid", true),
            ("b2c|contoso.b2clogin.com|contoso.onmicrosoft.com|b2c_1_susi", "uid-B2C_1_susi.utid", true),
            ("b2c|contoso.b2clogin.com|contoso.onmicrosoft.com|b2c_1_susi", "uid.utid", false),
            ("b2c|contoso.b2clogin.com|contoso.onmicrosoft.com|b2c_1_susi", "uid-b2c_1_susi2.utid", false),
            ("entra|login.microsoftonline.com", "https://login.microsoftonline.com/t/v2.0|sub", false),
            ("adfs|fs.example.test", "http://fs.example.test/adfs/services/trust|sub", false),
            ("oidc|https://idp.example.test", "https://idp.example.test|sub", false),
            ("oidc|https://a", "uid.utid", false),
            ("oauth2|https://a/token", "random.random", false),
        ]
    )
    func sharesAnAccountThatTheSchemaTellsFromAllOthers(_ partition: String, _ home: String, _ isShared: Bool) throws {
        var credentials = AccountCredentials(
            signInID: "own",
            partition: partition,
            environment: "host.example.test",
            clientID: Self.client,
            accountID: Account.ID(rawValue: home.lowercased()),
            homeAccountID: home
        )
        credentials.profiles = [CachedProfile(realm: "r", localAccountID: "l", isHomeTenant: true)]
        credentials.refreshToken = CachedRefreshToken(
            secret: "RT",
            scopes: ["openid", "b"],
            declinedScopes: ["c"],
            modifiedAt: 1_700_000_000,
            refusals: [RefreshRefusal(digest: "d", at: 1, count: 1, pause: 60)]
        )
        let record = CacheRecord(bytes: credentials.encoded())
        let name = MSALAccountName(credentials)
        let key = CacheKey(group: .application(ClientID(rawValue: Self.client)), kind: .account, name: name.name)
        let decoded = AccountCredentials(shareable: record, for: key)
        #expect(decoded == (isShared ? credentials : nil))
        // Earlier versions stored each of them.
        var changed = MSALBlob()
        changed.write(credentials, over: nil)
        #expect(changed.noteNames == [name.name])
        #expect(changed.accounts(of: Self.client).values.map(\.credentials) == (isShared ? [credentials] : []))
    }

    @Test(arguments: [
        ("Alice.B", "alice.b", true), ("k", "\u{212A}", false), ("\u{E9}", "e\u{301}", false),
        ("\u{C9}", "\u{E9}", false),
        ("a", "ab", false),
    ])
    func comparesIdentifiersByBytesExceptForTheCaseOfLetters(_ one: String, _ other: String, _ isSame: Bool) {
        #expect(JSONObject([("x", .string(one))]).has("x", other) == isSame)
        #expect(JSONObject([("x", .string(other))]).has("x", one) == isSame)
    }

    /// A service with the same client ID acts for the person with these tokens.
    @Test(arguments: ["user_assertion_hash", "userAssertionHash"])
    func leavesTheTokensOfAnOnBehalfOfFlow(_ member: String) throws {
        let entity = """
            "credential_type":"RefreshToken","secret":"OBO","\(member)":"h","home_account_id":"\(Self.home)",
            "environment":"login.microsoftonline.com","client_id":"\(Self.client)","last_modification_time":"1900000000"
            """
        var changed = try blob(
            MSALSamples.family.replacing(#""RefreshToken":{"#, with: #""RefreshToken":{"obo":{\#(entity)},"#)
        )
        let obo = try #require(changed.entity(.refreshToken, "obo"))
        let account = try only(changed)
        #expect(account.credentials.refreshToken?.secret == "RT1")
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT2"
        changed.write(credentials, over: account)
        #expect(changed.entities(.refreshToken).map { $0.json.string("secret") } == ["OBO", "RT2"])
        credentials.refreshToken = nil
        changed.write(credentials, over: try only(changed))
        #expect(changed.entities(.refreshToken).map(\.json) == [obo])
        changed.signOut(account.name)
        #expect(changed.entities(.refreshToken).map(\.json) == [obo])
        #expect(changed.entities(.account).count == 1)
    }

    /// An earlier version kept a token for the program's own parameters where other programs hand it to any caller.
    @Test func movesATokenWithParametersOutOfTheReachOfOthers() throws {
        var changed = try blob(
            MSALSamples.family.replacing(#""secret":"AT1","#, with: #""secret":"AT1","parameter_tag":"a1","#)
        )
        let account = try only(changed)
        #expect(account.credentials.accessTokens.map(\.parameterTag) == [0xA1])
        var credentials = account.credentials
        credentials.refreshToken?.secret = "RT2"
        changed.write(credentials, over: account)
        #expect(changed.entities(.accessToken).isEmpty)
        #expect(changed.entities(.boundAccessToken).map { $0.json.string("parameter_tag") } == ["a1"])
        let again = try only(changed)
        #expect(again.credentials == credentials)
        changed.write(credentials, over: again)
        #expect(try only(changed).credentials == credentials)
        credentials.accessTokens = []
        changed.write(credentials, over: again)
        #expect(changed.entities(.boundAccessToken).isEmpty)
    }

    @Test func refusesToWriteWhereASectionIsNone() throws {
        for text in [#"{"Account":[]}"#, #"{"swift-identity-client":"x"}"#] {
            let blob = try blob(text)
            #expect(blob.accounts(of: Self.client).isEmpty)
            #expect(throws: AuthenticationError.self) { try blob.checkMayBeWritten() }
        }
    }
}
