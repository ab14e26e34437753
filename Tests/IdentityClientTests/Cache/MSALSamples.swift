// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Caches as MSAL Python 1.39 wrote them, with shortened secrets. Each entity is one line.
enum MSALSamples {
    /// Entra ID through `organizations`, by a program of the family.
    static let family = #"""
        {"AccessToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-accesstoken-11111111-2222-3333-4444-555555555555-organizations-mail.read user.read openid profile":
        {"credential_type":"AccessToken","secret":"AT1",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"Mail.Read User.Read openid profile","realm":"organizations","token_type":"Bearer",
        "cached_at":"1700000000","expires_on":"1700003599","extended_expires_on":"1700003599",
        "refresh_on":"1700001800"}},
        "Account":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-organizations":
        {"home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","realm":"organizations",
        "local_account_id":"aaaaaaaa-0000-0000-0000-00000000000a","username":"alice@contoso.com",
        "authority_type":"MSSTS","account_source":"authorization_code"}},
        "IdToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-idtoken-11111111-2222-3333-4444-555555555555-organizations-":
        {"credential_type":"IdToken","secret":"<id_token jwt>",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","realm":"organizations",
        "client_id":"11111111-2222-3333-4444-555555555555"}},
        "RefreshToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-refreshtoken-11111111-2222-3333-4444-555555555555--mail.read user.read openid profile":
        {"credential_type":"RefreshToken","secret":"RT1",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"Mail.Read User.Read openid profile","last_modification_time":"1700000000","family_id":"1"}},
        "AppMetadata":{
        "appmetadata-login.microsoftonline.com-11111111-2222-3333-4444-555555555555":
        {"client_id":"11111111-2222-3333-4444-555555555555","environment":"login.microsoftonline.com",
        "family_id":"1"}}}
        """#

    /// Azure AD B2C.
    static let b2c = #"""
        {"AccessToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b-fabrikamb2c.b2clogin.com-accesstoken-11111111-2222-3333-4444-555555555555-fabrikamb2c.onmicrosoft.com-https://fabrikamb2c.onmicrosoft.com/api/read":
        {"credential_type":"AccessToken","secret":"AT",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"fabrikamb2c.b2clogin.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"https://fabrikamb2c.onmicrosoft.com/api/read","realm":"fabrikamb2c.onmicrosoft.com",
        "token_type":"Bearer","cached_at":"1700000000","expires_on":"1700003600",
        "extended_expires_on":"1700003600"}},
        "Account":{
        "aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b-fabrikamb2c.b2clogin.com-fabrikamb2c.onmicrosoft.com":
        {
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"fabrikamb2c.b2clogin.com","realm":"fabrikamb2c.onmicrosoft.com",
        "local_account_id":"aaaaaaaa-0000-0000-0000-00000000000a","username":"","authority_type":"MSSTS",
        "account_source":"authorization_code"}},
        "IdToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b-fabrikamb2c.b2clogin.com-idtoken-11111111-2222-3333-4444-555555555555-fabrikamb2c.onmicrosoft.com-":
        {"credential_type":"IdToken","secret":"<id_token jwt>",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"fabrikamb2c.b2clogin.com","realm":"fabrikamb2c.onmicrosoft.com",
        "client_id":"11111111-2222-3333-4444-555555555555"}},
        "RefreshToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b-fabrikamb2c.b2clogin.com-refreshtoken-11111111-2222-3333-4444-555555555555--https://fabrikamb2c.onmicrosoft.com/api/read":
        {"credential_type":"RefreshToken","secret":"RT",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a-b2c_1_susi.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"fabrikamb2c.b2clogin.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"https://fabrikamb2c.onmicrosoft.com/api/read","last_modification_time":"1700000000"}},
        "AppMetadata":{
        "appmetadata-fabrikamb2c.b2clogin.com-11111111-2222-3333-4444-555555555555":
        {"client_id":"11111111-2222-3333-4444-555555555555","environment":"fabrikamb2c.b2clogin.com"}}}
        """#

    /// AD FS.
    static let adfs = #"""
        {"AccessToken":{
        "adfs-sub+base64==-fs.contoso.com-accesstoken-11111111-2222-3333-4444-555555555555-adfs-openid profile":
        {"credential_type":"AccessToken","secret":"AT","home_account_id":"ADFS-Sub+Base64==",
        "environment":"fs.contoso.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"openid profile","realm":"adfs","token_type":"bearer","cached_at":"1700000000",
        "expires_on":"1700003600","extended_expires_on":"1700003600"}},
        "Account":{
        "adfs-sub+base64==-fs.contoso.com-adfs":
        {"home_account_id":"ADFS-Sub+Base64==","environment":"fs.contoso.com","realm":"adfs",
        "local_account_id":"ADFS-Sub+Base64==","username":"dave@contoso.local","authority_type":"ADFS",
        "account_source":"authorization_code"}},
        "IdToken":{
        "adfs-sub+base64==-fs.contoso.com-idtoken-11111111-2222-3333-4444-555555555555-adfs-":
        {"credential_type":"IdToken","secret":"<id_token jwt>","home_account_id":"ADFS-Sub+Base64==",
        "environment":"fs.contoso.com","realm":"adfs","client_id":"11111111-2222-3333-4444-555555555555"}},
        "RefreshToken":{
        "adfs-sub+base64==-fs.contoso.com-refreshtoken-11111111-2222-3333-4444-555555555555--openid profile":
        {"credential_type":"RefreshToken","secret":"RT","home_account_id":"ADFS-Sub+Base64==",
        "environment":"fs.contoso.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"openid profile","last_modification_time":"1700000000"}},
        "AppMetadata":{
        "appmetadata-fs.contoso.com-11111111-2222-3333-4444-555555555555":
        {"client_id":"11111111-2222-3333-4444-555555555555","environment":"fs.contoso.com"}}}
        """#

    /// Keycloak, as any OpenID Connect provider.
    static let openIDConnect = #"""
        {"AccessToken":{
        "f81d4fae-7dec-idp.example.com-accesstoken-my-client-realms-profile offline_access openid":
        {"credential_type":"AccessToken","secret":"AT","home_account_id":"F81D4FAE-7dec",
        "environment":"idp.example.com","client_id":"my-Client","target":"Profile offline_access openid",
        "realm":"realms","token_type":"Bearer","cached_at":"1700000000","expires_on":"1700000300",
        "extended_expires_on":"1700000300"}},
        "Account":{
        "f81d4fae-7dec-idp.example.com-realms":
        {"home_account_id":"F81D4FAE-7dec","environment":"idp.example.com","realm":"realms",
        "local_account_id":"F81D4FAE-7dec","username":"frank","authority_type":"MSSTS",
        "account_source":"authorization_code"}},
        "IdToken":{
        "f81d4fae-7dec-idp.example.com-idtoken-my-client-realms-":
        {"credential_type":"IdToken","secret":"<id_token jwt>","home_account_id":"F81D4FAE-7dec",
        "environment":"idp.example.com","realm":"realms","client_id":"my-Client"}},
        "RefreshToken":{
        "f81d4fae-7dec-idp.example.com-refreshtoken-my-client--profile offline_access openid":
        {"credential_type":"RefreshToken","secret":"RT","home_account_id":"F81D4FAE-7dec",
        "environment":"idp.example.com","client_id":"my-Client","target":"Profile offline_access openid",
        "last_modification_time":"1700000000"}},
        "AppMetadata":{
        "appmetadata-idp.example.com-my-Client":
        {"client_id":"my-Client","environment":"idp.example.com"}}}
        """#

    /// External ID.
    static let externalID = #"""
        {"AccessToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-contoso.ciamlogin.com-accesstoken-11111111-2222-3333-4444-555555555555-bbbbbbbb-0000-0000-0000-00000000000b-api://x/.default":
        {"credential_type":"AccessToken","secret":"AT",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"contoso.ciamlogin.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"api://x/.default","realm":"bbbbbbbb-0000-0000-0000-00000000000b","token_type":"Bearer",
        "cached_at":"1700000000","expires_on":"1700003600","extended_expires_on":"1700003600"}},
        "Account":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-contoso.ciamlogin.com-bbbbbbbb-0000-0000-0000-00000000000b":
        {"home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"contoso.ciamlogin.com","realm":"bbbbbbbb-0000-0000-0000-00000000000b",
        "local_account_id":"aaaaaaaa-0000-0000-0000-00000000000a","username":"erin@example.com",
        "authority_type":"MSSTS","account_source":"authorization_code"}},
        "IdToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-contoso.ciamlogin.com-idtoken-11111111-2222-3333-4444-555555555555-bbbbbbbb-0000-0000-0000-00000000000b-":
        {"credential_type":"IdToken","secret":"<id_token jwt>",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"contoso.ciamlogin.com","realm":"bbbbbbbb-0000-0000-0000-00000000000b",
        "client_id":"11111111-2222-3333-4444-555555555555"}},
        "RefreshToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-contoso.ciamlogin.com-refreshtoken-11111111-2222-3333-4444-555555555555--api://x/.default":
        {"credential_type":"RefreshToken","secret":"RT",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"contoso.ciamlogin.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"api://x/.default","last_modification_time":"1700000000"}},
        "AppMetadata":{
        "appmetadata-contoso.ciamlogin.com-11111111-2222-3333-4444-555555555555":
        {"client_id":"11111111-2222-3333-4444-555555555555","environment":"contoso.ciamlogin.com"}}}
        """#

    /// A personal account through `consumers`.
    static let personal = #"""
        {"AccessToken":{
        "00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad-login.microsoftonline.com-accesstoken-11111111-2222-3333-4444-555555555555-consumers-user.read":
        {"credential_type":"AccessToken","secret":"AT",
        "home_account_id":"00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"User.Read","realm":"consumers","token_type":"Bearer","cached_at":"1700000000",
        "expires_on":"1700003600","extended_expires_on":"1700003600"}},
        "Account":{
        "00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad-login.microsoftonline.com-consumers":
        {"home_account_id":"00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad",
        "environment":"login.microsoftonline.com","realm":"consumers",
        "local_account_id":"00000000-0000-0000-1111-222233334444","username":"bob@outlook.com",
        "authority_type":"MSSTS","account_source":"authorization_code"}},
        "IdToken":{
        "00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad-login.microsoftonline.com-idtoken-11111111-2222-3333-4444-555555555555-consumers-":
        {"credential_type":"IdToken","secret":"<id_token jwt>",
        "home_account_id":"00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad",
        "environment":"login.microsoftonline.com","realm":"consumers",
        "client_id":"11111111-2222-3333-4444-555555555555"}},
        "RefreshToken":{
        "00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad-login.microsoftonline.com-refreshtoken-11111111-2222-3333-4444-555555555555--user.read":
        {"credential_type":"RefreshToken","secret":"RT",
        "home_account_id":"00000000-0000-0000-1111-222233334444.9188040d-6c67-4c5b-b112-36a304b66dad",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"User.Read","last_modification_time":"1700000000"}},
        "AppMetadata":{
        "appmetadata-login.microsoftonline.com-11111111-2222-3333-4444-555555555555":
        {"client_id":"11111111-2222-3333-4444-555555555555","environment":"login.microsoftonline.com"}}}
        """#

    /// Two requests, the second for an SSH certificate.
    static let certificate = #"""
        {"AccessToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-accesstoken-11111111-2222-3333-4444-555555555555-bbbbbbbb-0000-0000-0000-00000000000b-a b":
        {"credential_type":"AccessToken","secret":"AT-b",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"a b","realm":"bbbbbbbb-0000-0000-0000-00000000000b","token_type":"Bearer",
        "cached_at":"1700000000","expires_on":"1700003599","extended_expires_on":"1700003599"},
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-accesstoken-11111111-2222-3333-4444-555555555555-bbbbbbbb-0000-0000-0000-00000000000b-c":
        {"credential_type":"AccessToken","secret":"AT-C",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"C","realm":"bbbbbbbb-0000-0000-0000-00000000000b","token_type":"ssh-cert",
        "cached_at":"1700000000","expires_on":"1700003599","extended_expires_on":"1700003599",
        "key_id":"KID1"}},
        "RefreshToken":{
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-refreshtoken-11111111-2222-3333-4444-555555555555--a b":
        {"credential_type":"RefreshToken","secret":"RT-b",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"a b","last_modification_time":"1700000000"},
        "aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b-login.microsoftonline.com-refreshtoken-11111111-2222-3333-4444-555555555555--c":
        {"credential_type":"RefreshToken","secret":"RT-C",
        "home_account_id":"aaaaaaaa-0000-0000-0000-00000000000a.bbbbbbbb-0000-0000-0000-00000000000b",
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"C","last_modification_time":"1700000000"}}}
        """#

    /// A token for the application itself, without an account.
    static let applicationOnly = #"""
        {"AccessToken":{
        "-login.microsoftonline.com-accesstoken-11111111-2222-3333-4444-555555555555-bbbbbbbb-0000-0000-0000-00000000000b-https://graph.microsoft.com/.default":
        {"credential_type":"AccessToken","secret":"APP-AT","home_account_id":null,
        "environment":"login.microsoftonline.com","client_id":"11111111-2222-3333-4444-555555555555",
        "target":"https://graph.microsoft.com/.default","realm":"bbbbbbbb-0000-0000-0000-00000000000b",
        "token_type":"Bearer","cached_at":"1700000000","expires_on":"1700003600",
        "extended_expires_on":"1700003600"}},
        "AppMetadata":{
        "appmetadata-login.microsoftonline.com-11111111-2222-3333-4444-555555555555":
        {"client_id":"11111111-2222-3333-4444-555555555555","environment":"login.microsoftonline.com"}}}
        """#

    static let all = [family, b2c, adfs, openIDConnect, externalID, personal, certificate, applicationOnly]
}
