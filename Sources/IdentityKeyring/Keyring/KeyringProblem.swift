// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO
import GLibSupport
import IdentityClient
import SystemSupport

/// The meaning of a failure of GLib or of the keyring.
enum KeyringProblem {
    /// The connection, the session or the keyring has ended. A new link may work.
    case stale
    case timedOut
    case locked
    case accessDenied
    case noService
    case noSuchObject
    /// A secret is not encrypted with the session's key. Another session may be right.
    case undecodable
    case other

    init(_ failure: GLibFailure) {
        if let name = failure.name, let problem = Self.byName[name] {
            self = problem
            return
        }
        if failure.name?.hasPrefix("org.freedesktop.DBus.Error.Spawn.") == true {
            self = .noService
            return
        }
        self = Self.byCode["\(failure.domain) \(failure.code)"] ?? .other
    }

    private static let byName: [String: KeyringProblem] = [
        "org.freedesktop.DBus.Error.ServiceUnknown": .noService,
        "org.freedesktop.DBus.Error.NameHasNoOwner": .noService,
        "org.freedesktop.DBus.Error.NoReply": .stale,
        "org.freedesktop.DBus.Error.Disconnected": .stale,
        "org.freedesktop.DBus.Error.Timeout": .timedOut,
        "org.freedesktop.DBus.Error.TimedOut": .timedOut,
        // The bus accepts no more calls, because too many are unanswered.
        "org.freedesktop.DBus.Error.LimitsExceeded": .timedOut,
        "org.freedesktop.DBus.Error.AccessDenied": .accessDenied,
        "org.freedesktop.DBus.Error.AuthFailed": .accessDenied,
        "org.freedesktop.DBus.Error.UnknownObject": .noSuchObject,
        "org.freedesktop.DBus.Error.UnknownMethod": .noSuchObject,
        "org.freedesktop.Secret.Error.IsLocked": .locked,
        "org.freedesktop.Secret.Error.NoSession": .stale,
        "org.freedesktop.Secret.Error.NoSuchObject": .noSuchObject,
    ]

    /// The codes of libsecret, which removes the names, and of this library.
    private static let byCode: [String: KeyringProblem] = [
        "g-dbus-error-quark \(CGIO_DBUS_ERROR_SERVICE_UNKNOWN)": .noService,
        "g-dbus-error-quark \(CGIO_DBUS_ERROR_NAME_HAS_NO_OWNER)": .noService,
        "g-dbus-error-quark \(CGIO_DBUS_ERROR_NO_REPLY)": .stale,
        "g-dbus-error-quark \(CGIO_DBUS_ERROR_ACCESS_DENIED)": .accessDenied,
        "g-dbus-error-quark \(CGIO_DBUS_ERROR_UNKNOWN_METHOD)": .noSuchObject,
        "g-dbus-error-quark \(CGIO_DBUS_ERROR_UNKNOWN_OBJECT)": .noSuchObject,
        "g-io-error-quark \(CGIO_ERROR_PERMISSION_DENIED)": .accessDenied,
        "g-io-error-quark \(CGIO_ERROR_CLOSED)": .stale,
        "g-io-error-quark \(CGIO_ERROR_TIMED_OUT)": .timedOut,
        "g-io-error-quark \(CGIO_ERROR_DBUS_ERROR)": .stale,
        "g-io-error-quark \(CGIO_ERROR_BROKEN_PIPE)": .stale,
        "\(GLibFailure.undecodable.domain) \(GLibFailure.undecodable.code)": .undecodable,
    ]
}

extension GLibFailure {
    /// Whether a failure to connect means that there is no bus at the address. Any other failure, such as a nonsensical answer,
    /// is no evidence of that.
    var meansMissingBus: Bool {
        let codes = [CGIO_ERROR_NOT_FOUND, CGIO_ERROR_INVALID_ARGUMENT, CGIO_ERROR_CONNECTION_REFUSED]
        return domain == "g-io-error-quark" && codes.contains { Int($0) == code }
    }
}

/// An address that does not lead to the bus of this user's session.
struct MisleadingBusAddress: Error {
    let failure: GLibFailure
    /// Whether there is another bus, on which a keyring may be.
    let mayHideKeyring: Bool
}

extension AuthenticationError {
    /// Returns an error with advice for the person.
    static func keyring(_ code: Code, _ cause: (any Error)? = nil) -> AuthenticationError {
        AuthenticationError(code, advice[code] ?? "The keyring could not be used.", underlyingError: cause)
    }

    /// No bus is at the address that the environment names.
    ///
    /// - Parameter other: The path of the bus in the runtime directory, if there is one.
    static func keyringMisledToBus(_ failure: GLibFailure, other: String?) -> AuthenticationError {
        let way =
            other.map { "Leave the variable out (unset DBUS_SESSION_BUS_ADDRESS): the bus at \($0) is used then" }
            ?? "Run this in a new shell of the desktop session, or leave the variable out"
        return AuthenticationError(
            .keyringNoSessionBus,
            "No session bus is at the address in DBUS_SESSION_BUS_ADDRESS, over which the keyring is reached. The address may "
                + "be an earlier session's, as in an old tmux or screen. \(way); there is no need to sign in again.",
            underlyingError: MisleadingBusAddress(failure: failure, mayHideKeyring: other != nil)
        )
    }

    /// The bus takes no connections of this user.
    static func keyringBusOfAnother(_ owner: UInt32, _ failure: GLibFailure) -> AuthenticationError {
        AuthenticationError(
            .keyringAccessDenied,
            "The session bus, over which the keyring is reached, belongs to user \(owner), but this program runs as user "
                + "\(SystemCall.effectiveUser). Run it as that user, without sudo.",
            underlyingError: MisleadingBusAddress(failure: failure, mayHideKeyring: true)
        )
    }

    /// The keyring reported its dialog as closed before a person can have seen it.
    static var keyringWithoutDialog: AuthenticationError {
        AuthenticationError(
            .keyringLocked,
            "The keyring is locked, and no dialog to unlock it could be shown. Run this in a desktop session (GNOME Keyring's "
                + "dialog comes with the package gcr), or unlock the keyring by logging in with your password, and try again; "
                + "there is no need to sign in again."
        )
    }

    /// The sign-in is stored, and the keyring will ask the person before it gives the sign-in to the next program.
    static var keyringItemsHidden: AuthenticationError {
        AuthenticationError(
            .keyringLocked,
            "The sign-in is stored, but the keyring asks the person before it gives the sign-in to another program, and "
                + "programs without a window cannot read it. \(withoutQuestion)."
        )
    }

    private static let withoutQuestion =
        "Switch this question off (KeePassXC: Settings, Secret Service Integration, \"Confirm when passwords are retrieved by "
        + "clients\")"

    /// The keyring is open, but the person must allow each program the items that it reads.
    static var keyringItemsLocked: AuthenticationError {
        AuthenticationError(
            .keyringLocked,
            "The keyring is open, but asks the person before it gives an item to a program, and this program shows no dialog. "
                + "\(withoutQuestion), and try again; there is no need to sign in again."
        )
    }

    /// The item is in another collection than the default one, and that is locked.
    static func keyringLockedElsewhere(_ label: String) -> AuthenticationError {
        AuthenticationError(
            .keyringLocked,
            "The sign-in is in \(label.isEmpty ? "a collection" : "\"\(label)\""), which is locked and is not the keyring's "
                + "default collection. Unlock it, in \"Passwords and Keys\" for example, and try again; there is no need to sign "
                + "in again."
        )
    }

    /// The item of the key of encrypted files holds something else. It stays where it is, so that it can be mended.
    static var keyringKeyDamaged: AuthenticationError {
        AuthenticationError(
            .cacheKeyUnavailable,
            "The keyring's item for the key of the encrypted sign-ins is damaged. Nothing was changed: put the item's secret back, "
                + "from a backup of the keyring for example."
        )
    }

    /// Whether the session bus refused this user.
    package var isOfAnothersBus: Bool { code == .keyringAccessDenied && underlyingError is MisleadingBusAddress }

    /// The person did not answer the keyring's dialog in time.
    static var keyringDialogUnanswered: AuthenticationError {
        AuthenticationError(
            .keyringTimedOut,
            "The keyring's dialog was not answered in time, and may still be open. Answer it, and try again; there is no need "
                + "to sign in again."
        )
    }

    /// The person did not answer the dialog of another program in time.
    static var keyringDialogElsewhere: AuthenticationError {
        AuthenticationError(
            .keyringTimedOut,
            "The keyring is locked, and another program's dialog to unlock it is still open. Answer or close that dialog, and "
                + "try again; there is no need to sign in again."
        )
    }

    /// Translates a failure of GLib or of the keyring. Returns other errors unchanged.
    static func fromKeyring(_ error: any Error) -> any Error {
        switch error {
        case let problem as LibraryProblem: library(problem)
        case let failure as GLibFailure: fromFailure(failure)
        case is DeadlineExceeded: keyring(.keyringTimedOut, error)
        default: error
        }
    }

    private static func fromFailure(_ failure: GLibFailure) -> AuthenticationError {
        switch KeyringProblem(failure) {
        case .timedOut: keyring(.keyringTimedOut, failure)
        case .locked: keyring(.keyringLocked, failure)
        case .accessDenied: keyring(.keyringAccessDenied, failure)
        case .noService: keyring(.keyringNoService, failure)
        case .undecodable:
            AuthenticationError(
                .cache,
                "The keyring gave out a secret that cannot be decrypted, in one session after another. Nothing was changed. Try "
                    + "again; if it stays so, restart the keyring, for example by logging out and in. There is no need to sign "
                    + "in again.",
                underlyingError: failure
            )
        // A missing object is no proof of a missing collection, which could lead to clear text.
        case .stale, .noSuchObject, .other:
            AuthenticationError(
                .cache,
                "The keyring could not be used: \(failure.description). Try again.",
                underlyingError: failure
            )
        }
    }

    private static func library(_ problem: LibraryProblem) -> AuthenticationError {
        switch problem {
        case .unloadable(let name, let reason):
            AuthenticationError(
                .keyringLibraryMissing,
                "\(name) could not be loaded (\(reason)). Without it, tokens cannot be stored in the keyring. Install or "
                    + "reinstall \(package(of: name)), or choose a file cache.",
                underlyingError: problem
            )
        case .unsuitable(let name):
            AuthenticationError(
                .keyringLibraryMissing,
                "\(name) is too old, or a different library. Install a later version of \(package(of: name)), or choose a file "
                    + "cache.",
                underlyingError: problem
            )
        case .exhausted:
            AuthenticationError(
                .cache,
                "The keyring could not be used: the process is out of memory or threads.",
                underlyingError: problem
            )
        }
    }

    /// The project that a library belongs to, and its package.
    private static func package(of library: String) -> String {
        library.contains("gio") || library.contains("glib")
            ? "GLib (Debian, Ubuntu: apt install libglib2.0-0)"
            : "libsecret (Debian, Ubuntu: apt install libsecret-1-0)"
    }

    private static let advice: [Code: String] = [
        .keyringNoSessionBus:
            "There is no session bus, over which the keyring is reached. Run this in a desktop session (over SSH: "
            + "dbus-run-session with an unlocked keyring), or choose a file cache.",
        .keyringNoService:
            "No keyring runs in this session. Install or start one (gnome-keyring, KWallet or KeePassXC), or choose a "
            + "file cache.",
        .keyringNoDefaultCollection:
            "The keyring has no default collection to keep tokens in, or one that is gone with the session. Create one in "
            + "\"Passwords and Keys\" and make it the default, or a wallet in KDE's wallet manager, or in KeePassXC expose a "
            + "database to the Secret Service.",
        .keyringLocked:
            "The keyring is locked, so the sign-in in it cannot be read now. Unlock it (\"Passwords and Keys\", or by "
            + "logging in with your password), and try again; there is no need to sign in again.",
        .keyringAccessDenied:
            "The system does not let this program use the keyring. In a sandbox, allow it to talk to "
            + "org.freedesktop.secrets (Flatpak: --talk-name; Snap: connect password-manager-service).",
        .keyringPromptDismissed:
            "The dialog to unlock the keyring was closed. Unlock the keyring and try again; there is no need to sign in "
            + "again.",
        .keyringTimedOut:
            "The keyring did not answer in time. Try again; if it stays so, restart it, for example by logging out and in.",
    ]
}
