// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityResources

/// The option that says how an API sees the token.
struct SchemeOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How requests show the token: bearer, the default; or pop, with each request signed (proof of possession).",
            valueName: "scheme"
        ),
        completion: .list(["bearer", "pop"])
    )
    var scheme: String?
}

extension SchemeOption {
    /// - Throws: `UsageError`.
    func chosen(_ environment: Variables) throws -> AuthenticationScheme {
        try Self.chosen(environment.given("scheme", scheme))
    }

    /// - Throws: `UsageError`.
    static func chosen(_ given: Given?) throws -> AuthenticationScheme {
        guard let given else { return .bearer }
        switch given.text.lowercased() {
        case "bearer": return .bearer
        case "pop": return .pop
        default: throw given.error("'\(given.text.printable)' is neither bearer nor pop.")
        }
    }

    /// - Throws: `UsageError` for the scheme `pop` if an agent has the account.
    func checkWorksWithoutAgent(_ environment: Variables) throws {
        guard try chosen(environment) == .pop, environment.agent != nil else { return }
        throw UsageError("--scheme pop: an agent signs no requests. Unset IDENTITYCTL_AGENT for this command.")
    }
}

/// Options for the one request that a header is for.
struct SignedRequestOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --scheme pop or --dpop: the request that the printed header fields are for, as 'GET https://…'.",
            discussion: "GET if only the address is given.",
            valueName: "method-and-url"
        )
    )
    var request: String?

    @Option(help: ArgumentHelp("With --request: the nonce that the API demands.", valueName: "nonce"))
    var nonce: String?
}

extension SignedRequestOptions {
    /// - Throws: `UsageError` for options that belong to the other scheme.
    func checkIsUnused() throws {
        guard request == nil, nonce == nil else {
            throw UsageError("--request and --nonce are for a signed request: give --scheme pop or --dpop as well.")
        }
    }

    /// Returns the request to sign.
    ///
    /// - Throws: `UsageError`.
    func signed() throws -> HTTPRequest {
        guard let request else {
            throw UsageError(
                "--scheme pop prints the Authorization header of one request: name it, for example --request "
                    + "'GET https://api.example.com/me'. 'identityctl call' signs by itself."
            )
        }
        let words = request.split(separator: " ")
        let name = words.count == 2 ? String(words[0]) : "GET"
        guard (1...2).contains(words.count), let method = HTTPRequest.Method(rawValue: name),
            let url = words.last.flatMap({ URL(string: String($0)) })
        else {
            throw UsageError("--request: '\(request.printable)' is not a method and an address, as 'GET https://…'.")
        }
        return HTTPRequest(method, to: url)
    }
}
