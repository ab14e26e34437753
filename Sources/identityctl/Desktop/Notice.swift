// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// A notification for the person, with buttons.
struct Notice: Hashable, Sendable {
    struct Button: Hashable, Sendable {
        /// The name of the button in answers.
        let key: String
        let label: String
    }

    let title: String
    let text: String
    var buttons: [Button] = []
    /// Whether the notification stays on the screen until it is answered.
    var isUrgent = false

    /// The text as markup, for a desktop that reads it as such.
    var markup: String {
        var markup = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": markup += "&amp;".unicodeScalars
            case "<": markup += "&lt;".unicodeScalars
            case ">": markup += "&gt;".unicodeScalars
            case "\"": markup += "&quot;".unicodeScalars
            case "'": markup += "&#39;".unicodeScalars
            default: markup.append(scalar)
            }
        }
        return String(markup)
    }
}

/// Shows a notice until the person presses a button or closes it, but no longer than a duration.
///
/// - Returns: The key of the pressed button; `nil` if the notice was closed.
/// - Throws: `DeadlineExceeded`, `NoPersonToAsk`, `CancellationError`. The notice is gone then.
typealias ShowNotice = @Sendable (_ notice: Notice, _ limit: Duration) async throws -> String?

/// The reason why no person can be asked here.
struct NoPersonToAsk: Error {
    let reason: String
}
