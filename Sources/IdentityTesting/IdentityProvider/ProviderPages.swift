// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The pages that a person sees. All external text is escaped; the only script is the one that posts the answer.
struct ProviderPages {
    /// The address to which the forms are posted.
    var action: String
    /// Whether a button leads to the policy for forgotten passwords.
    var offersPasswordReset = false
    /// Whether a person without an account can create one.
    var offersSignUp = false
    /// The people who have their own button.
    var people: [TestIdentityProvider.Person] = []

    func page(_ page: AuthorizationStep.Page) -> ProviderResponse {
        switch page {
        case .signIn(let interaction, let problem):
            return form(
                "Sign in",
                interaction,
                Self.note(problem) + """
                    <label>Username <input name="username" id="username" autocomplete="username" \
                    value="\((interaction.loginHint ?? "").escapedForHTML)"></label>
                    <label>Password <input name="password" id="password" type="password" \
                    autocomplete="current-password"></label>
                    """,
                buttons: [("sign-in", "Sign in")] + (offersPasswordReset ? [("forgot", "Forgot password?")] : [])
                    + (offersSignUp ? [("sign-up", "Sign up now")] : []) + [("cancel", "Cancel")],
                after: peopleButtons
            )
        case .signUp(let interaction, let problem):
            return form(
                "Sign up",
                interaction,
                Self.note(problem) + Self.nameField("") + Self.newPasswordFields(username: ""),
                buttons: [("create", "Create"), ("cancel", "Cancel")]
            )
        case .resetPassword(let interaction, let problem):
            return form(
                "Reset the password",
                interaction,
                Self.note(problem) + Self.newPasswordFields(username: interaction.loginHint ?? ""),
                buttons: [("reset", "Continue"), ("cancel", "Cancel")]
            )
        case .editProfile(let interaction, let name, let problem):
            return form(
                "Edit your profile",
                interaction,
                Self.note(problem) + Self.nameField(name),
                buttons: [("save", "Continue"), ("cancel", "Cancel")]
            )
        case .secondFactor(let interaction, let problem):
            return form(
                "Enter the code",
                interaction,
                Self.note(problem) + """
                    <p>We sent a text message with a code to your phone.</p>
                    <label>Code <input name="second_factor" id="second_factor" inputmode="numeric" \
                    autocomplete="one-time-code"></label>
                    """,
                buttons: [("verify", "Verify"), ("cancel", "Cancel")]
            )
        case .chooseAccount(let interaction, let usernames):
            let choices = usernames.map { name in
                let name = name.escapedForHTML
                return #"<label><input type="radio" name="account" value="\#(name)" checked> \#(name)</label>"#
            }
            let other = #"<label><input type="radio" name="account" value=""> Another account</label>"#
            return form(
                "Choose an account",
                interaction,
                choices.joined() + other,
                buttons: [("choose", "Continue"), ("cancel", "Cancel")]
            )
        case .consent(let interaction, let username, let scopes):
            return form(
                "Allow access?",
                interaction,
                "<p>\(username.escapedForHTML), <b>\(interaction.clientID.escapedForHTML)</b> asks for:</p>"
                    + Self.list(scopes),
                buttons: [("allow", "Allow"), ("deny", "Deny")]
            )
        case .administrator(let interaction, let scopes):
            return form(
                "An administrator must agree",
                interaction,
                "<p>Only an administrator can allow:</p>" + Self.list(scopes),
                buttons: [("back", "Back to the program")]
            )
        case .failure(let text):
            return Self.document("This does not work", "<p role=\"alert\">\(text.escapedForHTML)</p>", status: 400)
        }
    }

    private func form(
        _ title: String,
        _ interaction: Interaction,
        _ content: String,
        buttons: [(String, String)],
        after: String = ""
    ) -> ProviderResponse {
        let hidden = #"<input type="hidden" name="interaction" value="\#(interaction.id.escapedForHTML)">"#
        return Self.form(title, action: action, content: hidden + content, buttons: buttons, after: after)
    }

    static func form(
        _ title: String,
        action: String,
        content: String,
        buttons: [(String, String)],
        after: String = ""
    ) -> ProviderResponse {
        let buttons = buttons.map { value, label in
            #"<button name="action" id="\#(value)" value="\#(value)">\#(label)</button>"#
        }
        return document(
            title,
            #"<form method="post" action="\#(action.escapedForHTML)">\#(content)<p>\#(buttons.joined(separator: " "))</p>"#
                + "\(after)</form>"
        )
    }

    /// - SeeAlso: [Form Post Response Mode](https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html)
    static func formPost(to redirectURI: String, _ items: [(String, String)]) -> ProviderResponse {
        let inputs = items.map { name, value in
            #"<input type="hidden" name="\#(name.escapedForHTML)" value="\#(value.escapedForHTML)">"#
        }
        return document(
            "Going back to the program",
            #"<form method="post" action="\#(redirectURI.escapedForHTML)">\#(inputs.joined())<button>Continue</button></form>"#
                + "<script>document.forms[0].submit()</script>",
            allowsScript: true
        )
    }

    /// Returns the page that Google's provider showed instead of a redirect. Its title holds the answer for the
    /// program.
    static func outOfBand(_ items: [(String, String)]) -> ProviderResponse {
        let outcome = items.contains { $0.0 == "code" } ? "Success" : "Denied"
        return document(
            "\(outcome) \(FormURLEncoded.encode(items))",
            "<p>Go back to the program.</p>"
        )
    }

    static func document(
        _ title: String,
        _ content: String,
        status: Int = 200,
        allowsScript: Bool = false
    ) -> ProviderResponse {
        let html = """
            <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(title.escapedForHTML)</title>
            <meta name="viewport" content="width=device-width, initial-scale=1"><style>\(style)</style></head>
            <body><main><h1>\(title.escapedForHTML)</h1>\(content)</main></body></html>
            """
        let script = allowsScript ? "; script-src 'unsafe-inline'" : ""
        return ProviderResponse(
            status: status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'" + script
                ),
                ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
            ],
            body: Array(html.utf8)
        )
    }

    private static let style = """
        body{font:16px/1.5 system-ui,sans-serif;background:#f4f4f6;color:#1b1b1f}\
        main{max-width:24rem;margin:12vh auto;padding:2rem;background:#fff;border-radius:.5rem}\
        h1{font-size:1.25rem;margin-top:0}label{display:block;margin:.75rem 0}\
        input:not([type=radio]){display:block;width:100%;box-sizing:border-box;padding:.5rem;font:inherit}\
        button{padding:.5rem 1rem;font:inherit}[role=alert]{color:#a00}
        """

    private var peopleButtons: String {
        guard !people.isEmpty else { return "" }
        let buttons = people.map { person in
            let username = person.username.escapedForHTML
            return #"<button name="person" value="\#(username)">\#(person.name.escapedForHTML)</button>"#
        }
        return "<p>For trying things out, without a password:</p><p>\(buttons.joined(separator: " "))</p>"
    }

    static func note(_ problem: String?) -> String {
        problem.map { #"<p role="alert">\#($0.escapedForHTML)</p>"# } ?? ""
    }

    private static func nameField(_ name: String) -> String {
        #"<label>Name <input name="name" id="name" autocomplete="name" value="\#(name.escapedForHTML)"></label>"#
    }

    private static func newPasswordFields(username: String) -> String {
        """
        <label>Username <input name="username" id="username" autocomplete="username" \
        value="\(username.escapedForHTML)"></label>
        <label>New password <input name="password" id="password" type="password" \
        autocomplete="new-password"></label>
        """
    }

    private static func list(_ texts: [String]) -> String {
        "<ul>" + texts.map { "<li>\($0.escapedForHTML)</li>" }.joined() + "</ul>"
    }
}
