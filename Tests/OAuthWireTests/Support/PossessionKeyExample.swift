// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A key that was made for these tests, with what Python's `cryptography` computes for it.
enum PossessionKeyExample {
    static let keyID = "ZMgts57qMdufWLP6aOKXFzVIF2dzO_7Dnyr0GpmOLjA"

    static let confirmation = "eyJraWQiOiJaTWd0czU3cU1kdWZXTFA2YU9LWEZ6VklGMmR6T183RG55cjBHcG1PTGpBIn0"

    static let publicKey =
        #"{"e":"AQAB","kty":"RSA","n":"vBtEzjS46ThTEUcpcXsdyoPTW2YgtYhLv3xU1r1HBv5FIVW6OwUb53CcwtG-tecmhgDPRymtVbm3q4UZ"#
        + "Ix2qaRXAdxEkraeRzTYdLI-H_yWaIbB13zRkWKfZ5Nw0LPWYgmWrSMKLyQN8bfXWbIXpqcm8xHD951FymuMZrQWgzQBg02OYDUfI0Sf8"
        + "wisj50umSNau67uEumtBAtglZeFmafOfqC3oLY59a9TB-BymdSqyOZulkDP7pDh9OeT6G2GgMTlfOGM6EYYfaROLFZYWkMwtL1U0Hmtt"
        + #"yV3BeSiZwDwukdTj2vPSz_BoQ8CozjcYDwrJyjeBibrWnMeisjdM7Q"}"#

    /// A signature of the statement that was made there.
    static let signature =
        "Ic1iaFr4xgPvz6lg3HVSWdycmz6H8bIOFoObVpS82da9M2DDEps7-MutY-EcrxK98Vb9zCcaHH2jMkZpDp2aXYoqT0zkg41m"
        + "o2wq3rlU09SmuzEilmNXwTV4FeRMCE2_fy7Ve6iKyJVfdDyBEfLTOtMgRXzXbWJ3AySS6SgvQELpQBd7WtyATrNGipyFT-"
        + "adz2ljUCkwqVwYx8GaJQloPqdbkJ0ApJqpOX_FOIYfxDDP-OptYSpbstNujsWuu9NTpD1nTpc3q5HMysHMz46ZrQtryhfmiZ"
        + "TGtI0SLENtwXGzj7ZGA_XngseHoXmTemIIv0gTzR3gFRb52SUQ2xJCrQ"

    /// The parts of the statement about a request that has every part.
    static let header =
        #"{"alg":"PS256","kid":"\#(keyID)","typ":"pop"}"#

    static let claims =
        #"{"at":"the-token","ts":1764104400,"m":"POST","u":"api.example.com:8443","p":"/v1/a%2Fb","#
        + #""q":[["x","y"],"0Pluje6HZ3De_yN1srzZMUve5e1DzzX6ysGqUh5iDO4"],"nonce":"server+nonce==","#
        + #""cnf":{"jwk":\#(publicKey)}}"#

    private static let privateKey =
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC8G0TONLjpOFMRRylxex3Kg9NbZiC1iEu/fFTWvUcG/kUh"
        + "Vbo7BRvncJzC0b615yaGAM9HKa1VuberhRkjHappFcB3ESStp5HNNh0sj4f/JZohsHXfNGRYp9nk3DQs9ZiCZatIwovJA3xt"
        + "9dZshempybzEcP3nUXKa4xmtBaDNAGDTY5gNR8jRJ/zCKyPnS6ZI1q7ru4S6a0EC2CVl4WZp85+oLegtjn1r1MH4HKZ1KrI5"
        + "m6WQM/ukOH055PobYaAxOV84YzoRhh9pE4sVlhaQzC0vVTQea23JXcF5KJnAPC6R1OPa89LP8GhDwKjONxgPCsnKN4GJutac"
        + "x6KyN0ztAgMBAAECggEAMUzyURs3VYS6HL6qaYArlC7Nv9g5/WoN9E9pSujLy1TsGGsIBrz1jciRhWwEkFdXXOqsaMnPELc+"
        + "oLkfF/mH9sfJLEu1ccAH8iFbLxklOyWHSoodspTgMe44KQffsuLhiFeON2Ep0tLTk1xJySKl1aa2j0PQAAb0Qwz/Zz4g4Wli"
        + "m347hK+/r1b3hTqmKC/HAR9s6mEBjjusGe4R4s89kKcYP0JW/PpzYzLfo/m0bUE1HdazRw2KBvZ01SibReDX+e3fbxGVcpRo"
        + "pG7OLlgA4foAeVjVTXjnL3gOMBmbPk14YejFgShCCGPVWrX9qOcvBf1dilb7vvErHdF4lRe2bwKBgQD3bPVIaEfug55SgXjR"
        + "N/zVeRH0/3/jrtBE20zowR64EhITHtSlxy2ynzPAYggVQc45SRFZBurRbd9GOhhSAjBX3kaiLgjsZHSMFoy8agTpQZsWmqej"
        + "pbi3IBptzP+A+bojVaoIE1hv4hdicO0so9JlrYdp35bhv858mNvdkmJ5jwKBgQDCoA9XlQh92BV3qlOlgHU2lAL3E8CU+hb3"
        + "keeCxORMjyaE5JUtdHafCAC+tsCdK1GG/GvoZj/Ac/CbKvhTnWW/P0Ez+dTQk4C6EWGxxsHA488+XpYj7Yzt57M3iAGcWZut"
        + "GF2SKXxS0MlqHrKZ4OOESZYZ6LJu61yhc2b3+eN7wwKBgGh6sBDFSCqllYNNfNEMDU2vdC+6fCyOsw+AczeN5QThTJSaXj0q"
        + "oFde9qF0Q+mGAikae6LWUu3gsXmcKozms7dG+xicy9PWj4hgNUmSk0RUGcMvxz5JSni5q69V80ZpLXqiP8xtLtj/5dQBz4Uc"
        + "IEojPp0sdzAYqH7gpWco20BtAoGAGyJXoT1M9saWj512lf9n2BkgpLPjSKHpa9Cytz+eGLJoi2SXC8RN+XQTLoOqLP9qGWi9"
        + "3qPKxZkkdW2zO20ZT2WRQJ7XNdEqxEZCGZf9UVgxf5+OTSoEWPLRwK88kkDH/IUGHqecBqvHOP1Ypy18augbfjc8EUzNGFFP"
        + "jMkRFyMCgYEAsobFiVCEFjs4/yaEUGEgzrAt/qzmdltoX50p4b5I9ihTJUPTZuRhczoCIAniTXVBftXa7FwohKMroi8sphZM"
        + "cN9FROg5PF2J4e3A9FbvJvMKnDpSbmyGddqJ8jYVSLhLWC/5Dt1qwdC0ksitBjN0VL5B3fVvH5QIG6p2x/fgYK0="

    static func key() throws -> PossessionKey {
        try PossessionKey(pkcs8: Base64URL.decodeLenient(privateKey) ?? [])
    }
}
