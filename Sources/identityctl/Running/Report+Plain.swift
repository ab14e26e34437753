// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire

/// The results and errors as text for people.
enum PlainReport {
    /// Returns one line for each account: the username or else the name, the ID, the environment, `default` for the default
    /// account, and the end of the sign-in if the provider said it. Tabs separate them, or columns for a person.
    ///
    /// - Parameter nameless: The words for an account without a name.
    static func accounts(
        _ accounts: [Account],
        default chosen: Account? = nil,
        namelessAs nameless: String? = nil,
        inColumns: Bool
    ) -> String {
        let rows = accounts.map { account in
            let end = account.refreshTokenExpiresOn.map { "until \($0.utcText)" }
            let mark = account.id == chosen?.id ? "default" : end.map { _ in "" }  // the end is always the fifth
            let name = (account.username ?? account.displayName ?? nameless ?? "-").printable
            let row = [name, account.id.rawValue.printable, account.environment.printable]
            return row + [mark, end].compactMap(\.self)
        }
        let widths = (0..<2).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            guard inColumns else { return row.joined(separator: "\t") + "\n" }
            let padded = zip(row, widths).map { text, width in
                text + String(repeating: " ", count: width - text.count)
            }
            return (padded + row[2...].filter { !$0.isEmpty }).joined(separator: "  ") + "\n"
        }.joined()
    }

    /// Returns a line for each claim: its name and its value, a text or else JSON.
    static func claims(_ claims: JSONObject, inColumns: Bool) -> String {
        let rows = claims.members.map { name, value in
            (name.printable, value.string?.printable ?? value.jsonText.printableJSON)
        }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            let gap = inColumns ? String(repeating: " ", count: width - name.count + 2) : "\t"
            return name + gap + value + "\n"
        }
        .joined()
    }

    /// Returns the outcome of a sign-out at the provider.
    static func signOut(_ result: SignOutResult) -> [String] {
        let revocation: String? =
            switch result.revocation {
            case .notRequested: nil
            case .succeeded, .unconfirmed: "The provider says that the refresh token is revoked."
            case .notNeeded: "There was no refresh token to revoke."
            case .unavailable: "Warning: nothing was revoked. The provider publishes no place for it."
            case .failed(let error): "Warning: the refresh token was not taken back. \(withReference(error))"
            }
        let session: String? =
            switch result.browserSession {
            case .notRequested, .notNeeded: nil
            case .succeeded: "The browser's session with the provider has ended."
            case .unconfirmed: "Finish signing out on the provider's page in the browser."
            case .unavailable: "The provider has no sign-out page."
            case .failed(let error):
                "Warning: the browser's session with the provider was not ended. \(withReference(error))"
            }
        return [revocation, session].compactMap(\.self)
    }

    /// Returns what went wrong, what the server said and what to do next.
    static func error(_ error: any Error) -> [String] {
        var lines = ["identityctl: \(JSONReport.message(of: error).printable)"]
        if let refusal = error as? APIRefusal { lines += refusal.details.map { "  \($0)" } }
        guard let known = error as? AuthenticationError else { return lines }
        if let server = known.serverError { lines.append("  \(words(server))") }
        // A sign-in does not wait, and a message may say the time itself.
        if let wait = known.retryAfter, !(.interactionRequired ~= known.code), !known.message.contains("Try again in") {
            lines.append("  Try again in \(wait.wholeSeconds) s.")
        }
        lines.append("  \(reference(known))")
        return lines
    }

    static func words(_ server: ServerError) -> String {
        let words = [server.error, server.suberror, server.errorDescription].compactMap(\.self)
        return "The server said: \(words.joined(separator: ": ").printable)"
    }

    /// Returns what went wrong, in a line. An error of the library comes with the details that support asks for.
    static func sentence(_ error: any Error) -> String {
        (error as? AuthenticationError).map(withReference) ?? JSONReport.message(of: error).printable
    }

    /// Returns what went wrong and what to do next, with the details that support asks for.
    static func withReference(_ error: AuthenticationError) -> String {
        "\(error.message.printable) \(reference(error))"
    }

    /// Returns the details that support asks for: the code, the correlation identifier and the time.
    private static func reference(_ error: AuthenticationError) -> String {
        let request = error.correlationID.map { ", correlation id \($0.text)" } ?? ""
        return "(\(error.code.rawValue.printable)\(request), \(error.timestamp.utcText))"
    }

    /// Returns what to do about an error, or `nil` if the tool does not know.
    ///
    /// - Parameters:
    ///   - options: The options of the command. The advised sign-in uses the same.
    ///   - place: The words for another place than this machine.
    static func advice(_ error: any Error, _ options: SharedOptions, at place: String = "") -> String? {
        guard let known = error as? AuthenticationError else { return nil }
        if known.code == .invalidScope, known.serverError?.error == "invalid_scope" {
            let login = options.replacing("--default-scopes", with: "openid")
            return "If it is one that is added by default, leave it out, for example: \(login.command("login"))"
        }
        if let authority = known.redirectedAuthority {
            let login = options.replacing("--authority", with: authority.url)
            return "To sign in at the account's cloud, run: \(login.command("login"))"
        }
        if let question = known.underlyingError as? UnansweredQuestion {
            return "If you trust both, run: \(question.command)"
        }
        if let moved = known.underlyingError as? MovedResource, let server = moved.servers.first,
            moved.servers.count == 1
        {
            let login = options.replacing("--resource", with: moved.address).replacing("--issuer", with: server)
            return "Only if that is right, run: \(login.command("login"))"
        }
        guard .interactionRequired ~= known.code else { return nil }
        var login = known.claims.map { options.replacing("--claims", with: $0) } ?? options
        if known.code == .accountMismatch { login = login.replacing("--prompt", with: "select_account") }
        if let challenge = known.challenge { login = login.meeting(challenge) }
        return "To sign in, run\(place): \(login.command("login"))"
    }
}

/// A question that no person could be asked.
struct UnansweredQuestion: Error {
    /// The command that answers it.
    let command: String
}
