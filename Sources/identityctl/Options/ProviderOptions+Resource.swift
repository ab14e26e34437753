// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

// A resource that is named by its address.
extension ProviderOptions {
    /// Returns the address of the resource that is named; `nil` if a provider on the command line takes its place.
    func namedResource(_ environment: Variables) throws -> Given? {
        // A provider on the command line replaces the variables of another one.
        guard resource != nil || !isOnCommandLine else { return nil }
        return try environment.given("resource", resource)
    }

    /// Returns the same, if its server or the client there is left to the search.
    func searchedResource(_ environment: Variables) throws -> Given? {
        try namesServer(environment) ? nil : namedResource(environment)
    }

    /// Returns the same, if its server and the client there are named as well.
    func wholeResource(_ environment: Variables) throws -> Given? {
        try namesServer(environment) ? namedResource(environment) : nil
    }

    private func namesServer(_ environment: Variables) throws -> Bool {
        try environment.profile?.isOfResource != true && environment.given("issuer", issuer) != nil
            && environment.given("client-id", clientID) != nil
    }
}

extension AuthenticationError {
    /// The error for a resource without a sign-in.
    static func unknownResource(_ address: Given) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "There was no sign-in for \(address.text.printable) here yet, and no server is known for it."
        )
    }
}
