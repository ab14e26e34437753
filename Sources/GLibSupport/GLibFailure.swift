// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import CGIO

/// Why GLib, or whoever it talked to, could not do something. Its texts come from there: they hold no secrets of ours.
package struct GLibFailure: Error, Sendable, CustomStringConvertible {
    /// The error's domain, for example `g-io-error-quark`.
    package let domain: String
    /// The code in that domain.
    package let code: Int
    /// What D-Bus calls the error, or `nil` when it did not come from there.
    package let name: String?
    package let message: String
    /// What was asked of the keyring, for example `Service.OpenSession`, and the program behind it, as far as they are known.
    package private(set) var operation: String?
    package private(set) var provider: String?

    package init(domain: String, code: Int, name: String?, message: String) {
        self.domain = domain
        self.code = code
        self.name = name
        self.message = message
    }

    init(_ failure: UnsafePointer<cgio_failure>) {
        let failure = unsafe failure.pointee
        domain = unsafe failure.domain.map { unsafe String(cString: $0) } ?? ""
        code = unsafe Int(failure.code)
        name = unsafe failure.name.map { unsafe String(cString: $0) }
        message = unsafe failure.message.map { unsafe String(cString: $0) } ?? ""
    }

    /// The same failure, with where it happened.
    package func during(_ operation: String, of provider: String?) -> GLibFailure {
        var failure = self
        (failure.operation, failure.provider) = (operation, provider)
        return failure
    }

    package var description: String {
        let origin = [name ?? "\(domain) \(code)", operation, provider].compactMap(\.self)
        return "\(message.prefix(300)) (\(origin.joined(separator: ", ")))"
    }
}

/// Why a library could not be loaded.
package enum LibraryProblem: Error, Sendable, Equatable {
    /// The loader did not find it, or could not load it; its words, at most 200 characters.
    case unloadable(String, reason: String)
    /// It was found, but lacks a function that is needed.
    case unsuitable(String)
    /// The process is out of memory or threads.
    case exhausted

    package init?(_ readiness: cgio_readiness, library: String, reason: UnsafePointer<CChar>?) {
        switch readiness {
        case CGIO_READY: return nil
        case CGIO_UNLOADABLE:
            let words = unsafe reason.map { unsafe String(cString: $0) } ?? library
            self = .unloadable(library, reason: String(words.prefix(200)))
        case CGIO_UNSUITABLE: self = .unsuitable(library)
        default: self = .exhausted
        }
    }
}
