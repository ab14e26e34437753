// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

@testable import IdentityBroker

/// Answers in the forms that brokers were seen to send, with invented people and tokens. The forms are those that the
/// programs siemens/sso-mib, siemens/linux-entra-sso, abraunegg/onedrive and himmelblau record in their sources and
/// issues; none was recorded here.
enum BrokerFixtures {
    static let correlationID = UUID()
    static let client = BrokerClient(clientID: "00001111-aaaa-2222-bbbb-3333cccc4444", redirectURI: "https://r.example")
    static let homeAccountID = "aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb.cccccccc-0000-1111-2222-dddddddddddd"

    /// The account of Microsoft's brokers, with a member that only the broker knows.
    static let microsoftAccount = """
        {"environment":"login.windows.net","givenName":"Alice","homeAccountId":"\(homeAccountID)",
         "localAccountId":"aaaaaaaa-0000-1111-2222-bbbbbbbbbbbb","name":"Alice Example","passwordExpiry":0,
         "realm":"cccccccc-0000-1111-2222-dddddddddddd","username":"alice@contoso.example","x-unknown":[1.50]}
        """

    static let accounts = #"{"accounts":[\#(microsoftAccount)]}"#

    /// 2.0.1: an account in the answer, scopes in an array, milliseconds.
    static let tokens201 = """
        {"brokerTokenResponse":{"accessToken":"at-201","accessTokenType":0,"account":\(microsoftAccount),
         "clientInfo":"eyJ1aWQiOiJhYWFhYWFhYS0wMDAwLTExMTEtMjIyMi1iYmJiYmJiYmJiYmIiLCJ1dGlkIjoiY2NjY2NjY2MtMDAwMC0xMTExLTIyMjItZGRkZGRkZGRkZGRkIn0",
         "expiresOn":1700003600000,"extendedExpiresOn":1700007200000,"grantedScopes":["User.Read","openid"],
         "idToken":"h.p.s","refreshToken":"rt"},"telemetry":{"api_status_code":"StatusInternal::Success"}}
        """
    /// 2.5.2: scopes in a text.
    static let tokens252 = """
        {"brokerTokenResponse":{"accessToken":"at-252","accessTokenType":0,"account":\(microsoftAccount),
         "expiresOn":1700003600000,"extendedExpiresOn":1700007200000,"grantedScopes":"User.Read openid profile",
         "idToken":"h.p.s","refreshToken":""},"telemetry":{}}
        """
    /// 3.0.1: no account, and an empty refresh token.
    static let tokens301 = """
        {"brokerTokenResponse":{"accessToken":"at-301","accessTokenType":0,"clientInfo":"","expiresOn":1700003600000,
         "extendedExpiresOn":0,"grantedScopes":"User.Read","idToken":"h.p.s","refreshToken":""}}
        """
    /// Himmelblau: neither account nor client info, and a wrong unit of one time.
    static let tokensHimmelblau = """
        {"brokerTokenResponse":{"accessToken":"at-him","accessTokenType":0,"expiresOn":1700003600000,
         "extendedExpiresOn":1700003600,"grantedScopes":["User.Read"],"idToken":"h.p.s"}}
        """
    /// Himmelblau before 2026-05-14, where the time cannot be trusted.
    static let tokensOldHimmelblau = """
        {"brokerTokenResponse":{"accessToken":"at-old","accessTokenType":0,"expiresOn":1700003600,
         "extendedExpiresOn":3600,"grantedScopes":["User.Read"],"idToken":"h.p.s"}}
        """

    /// 2.0.1: the refusal is in what looks like tokens, with Entra ID's words in `diagnostics`.
    static let refusal201 = """
        {"brokerTokenResponse":{"accessTokenType":0,"error":{"context":"AADSTS50078: Presented multi-factor \
        authentication has expired","diagnostics":{"raw_error_code":"invalid_grant",
         "exception_type":"com.microsoft.identity.common.exception.UiRequiredException",
         "oauth2_sub_error_code":"basic_action"},"errorCode":0,"status":2,"subStatus":0,"tag":0},"expiresOn":0,
         "extendedExpiresOn":0},"telemetry":{}}
        """
    /// 2.5.2: no `diagnostics`, so that only the text tells the number.
    static let refusal252 = """
        {"brokerTokenResponse":{"error":{"context":"invalid_grant AADSTS65001: The user has not consented, suberror \
        consent_required","diagnostics":null,"errorCode":3399548929,"status":2,"subStatus":6005,"tag":558133255}},
         "subError":"","telemetry":{"api_status_code":"StatusInternal::InteractionRequired"}}
        """
    /// Himmelblau: the status is always 0.
    static let refusalHimmelblau = """
        {"brokerTokenResponse":{"error":{"context":"AADSTS50076: Due to a configuration change made by your \
        administrator you must use multi-factor authentication","status":0,"subStatus":0}}}
        """

    static func failure(status: Int, _ context: String = "words") -> String {
        #"{"brokerTokenResponse":{"error":{"context":"\#(context)","errorCode":0,"status":\#(status)}}}"#
    }

    static func reply(_ text: String) throws -> BrokerReply { try BrokerReply(text, correlationID: correlationID) }
}
