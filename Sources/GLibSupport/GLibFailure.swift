// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import CGIO

/// A failure of GLib or of the program it talked to. Its texts come from there and hold no secrets of this library.
package struct GLibFailure: Error, Sendable, CustomStringConvertible {
    /// The error's domain, for example `g-io-error-quark`.
    package let domain: String
    /// The code in that domain.
    package let code: Int
    /// The D-Bus name of the error, or `nil` if the error did not come from D-Bus.
    package let name: String?
    package let message: String
    /// The keyring operation, for example `Service.OpenSession`, and the program behind the keyring, if they are known.
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

    /// Returns the same failure with the operation that failed.
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

/// The reason why a library could not be loaded.
package enum LibraryProblem: Error, Sendable, Equatable {
    /// The loader did not find or could not load the library; `reason` is the loader's message, at most 200 characters.
    case unloadable(String, reason: String)
    /// The library was found but lacks a required function.
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
