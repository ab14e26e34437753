// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Something whose time is measured. The cases are all values of the labels `kind` and `phase`.
package enum Activity: String, CaseIterable, Hashable, Sendable {
    case acquireSilently = "silent"
    case acquireInteractively = "interactive"
    /// A sign-in whose page the program shows itself: from the answer on.
    case completeAuthorization = "prepared"
    case acquireWithDeviceCode = "device_code"
    /// A sign-in with a grant of the program's choice.
    case acquireWithGrant = "grant"
    /// A sign-in that is taken over from another library.
    case acquireByRefreshToken = "refresh_token"
    /// A sign-in by that of another program of the publisher.
    case acquireByDeviceSecret = "device_secret"
    case exchangeToken = "exchange"
    case userInfo = "user_info"
    case introspectToken = "introspection"
    /// A request to the provider, with its answer.
    case request
    /// The time that the person has the browser's page.
    case person
    /// The wait for another process that refreshes the same tokens.
    case lease
    case cacheRead = "cache_read"
    case cacheWrite = "cache_write"
    /// A call of the desktop's keyring.
    case keyring

    /// Whether this is a call of the program that acquires a token, to hand it out or to use it, and not a part of one.
    package var isAcquisition: Bool {
        switch self {
        case .acquireSilently, .acquireInteractively, .completeAuthorization, .acquireWithDeviceCode, .acquireWithGrant,
            .acquireByRefreshToken, .acquireByDeviceSecret, .exchangeToken, .userInfo, .introspectToken:
            true
        case .request, .person, .lease, .cacheRead, .cacheWrite, .keyring: false
        }
    }

    /// The name of the span.
    package var spanName: String { isAcquisition ? "identity.acquire" : "identity.\(rawValue)" }
}

/// The end of an activity.
package struct Completion: Hashable, Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case success, error, cancelled
    }

    package let outcome: Outcome
    /// The source of an acquired token, from a closed list.
    package let source: String?
    /// The family of an error, from a closed list.
    package let error: String?

    package static let cancelled = Completion(outcome: .cancelled, source: nil, error: nil)

    package static func success(source: String? = nil) -> Completion {
        Completion(outcome: .success, source: source, error: nil)
    }

    package static func failure(_ family: String) -> Completion {
        Completion(outcome: .error, source: nil, error: family)
    }
}
