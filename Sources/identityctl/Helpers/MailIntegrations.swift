// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

// The mail programs, and rclone: each runs a command that prints the token alone.
extension IntegratedTool {
    static let msmtp = IntegratedTool(name: "msmtp", asks: .profile) { home in
        ShownIntegration(
            home: home,
            paths: ["\(home.path)/.msmtprc", "\(home.configuration)/msmtp/config"],
            introduction:
                "Write these lines into the account in FILE; with Google or Microsoft, 'xoauth2' may be needed:",
            lines: { ["auth oauthbearer", "passwordeval \"\($0)\""] }
        )
    }

    static let mutt = IntegratedTool(name: "mutt", asks: .profile) { home in
        let paths = ["\(home.path)/.muttrc", "\(home.path)/.mutt/muttrc", "\(home.configuration)/mutt/muttrc"]
        return .mutt(home, paths)
    }

    static let neomutt = IntegratedTool(name: "neomutt", asks: .profile) { home in
        // NeoMutt reads mutt's file where there is none of its own.
        let paths = [
            "\(home.configuration)/neomutt/neomuttrc", "\(home.path)/.neomutt/neomuttrc", "\(home.path)/.neomuttrc",
        ]
        return .mutt(home, paths)
    }

    static let mbsync = IntegratedTool(name: "mbsync", asks: .profile) { home in
        ShownIntegration(
            home: home,
            paths: ["\(home.path)/.mbsyncrc", "\(home.configuration)/isyncrc"],
            introduction: "Write these lines into the part IMAPAccount in FILE:",
            lines: { ["AuthMechs XOAUTH2", "PassCmd \"\($0)\""] },
            problem: { SASLModules.problem(home.environment) }
        )
    }

    static let aerc = IntegratedTool(name: "aerc", asks: .profile) { home in
        ShownIntegration(
            home: home,
            paths: ["\(home.configuration)/aerc/accounts.conf"],
            introduction:
                "Write these lines into the account in FILE, with your own name and servers for 'me', IMAP and SMTP:",
            lines: { command in
                [
                    "source = imaps+oauthbearer://me@IMAP", "source-cred-cmd = \(command)",
                    "outgoing = smtps+oauthbearer://me@SMTP", "outgoing-cred-cmd = \(command)",
                ]
            }
        )
    }

    static let rclone = IntegratedTool(name: "rclone", asks: .profile) { home in
        ShownIntegration(
            home: home,
            paths: [home.environment["RCLONE_CONFIG"] ?? "\(home.configuration)/rclone/rclone.conf"],
            introduction: "Write this line into the WebDAV remote in FILE, in place of 'user' and 'pass':",
            lines: { ["bearer_token_command = \($0)"] }
        )
    }
}

extension Integration where Self == ShownIntegration {
    /// Mutt and NeoMutt have the same settings.
    fileprivate static func mutt(_ home: Home, _ paths: [String]) -> ShownIntegration {
        ShownIntegration(
            home: home,
            paths: paths,
            introduction: "Write these lines into FILE; a line 'account-hook' limits them to one server:",
            lines: { command in
                ["imap", "smtp"].flatMap { protocolName in
                    [
                        "set \(protocolName)_authenticators = \"oauthbearer:xoauth2\"",
                        "set \(protocolName)_oauth_refresh_command = \"\(command)\"",
                    ]
                }
            }
        )
    }
}

/// The modules of Cyrus SASL, by which mbsync signs in.
enum SASLModules {
    /// Returns what is missing for mbsync; `nil` if there is a module of XOAUTH2 or OAUTHBEARER.
    static func problem(_ environment: Variables) -> String? {
        let manager = FileManager.default
        let named = environment["SASL_PATH"]?.split(separator: ":").map(String.init)
        let usual =
            ["/usr/lib", "/usr/local/lib"]
            + ["/usr/lib", "/usr/lib64"].flatMap { library in
                [library]
                    + ((try? manager.contentsOfDirectory(atPath: library)) ?? [])
                    .filter { $0.hasSuffix("-linux-gnu") }.map { "\(library)/\($0)" }
            }
        let directories = named ?? usual.map { "\($0)/sasl2" }
        let hasModule = directories.contains { directory in
            (try? manager.contentsOfDirectory(atPath: directory))?.contains { file in
                let name = file.lowercased()
                return name.hasPrefix("lib")
                    && ["xoauth2.so", "oauthbearer.so"].contains { name.utf8.firstRange(of: $0.utf8) != nil }
            } == true
        }
        guard !hasModule else { return nil }
        return "mbsync has no SASL module of XOAUTH2. On Debian, run: sudo apt-get install libsasl2-modules-kdexoauth2"
    }
}
