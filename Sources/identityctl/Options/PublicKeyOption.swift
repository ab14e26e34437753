// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import IdentityClient
import SystemSupport

/// The option that names a public key's file.
struct PublicKeyOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file of the public RSA key that the certificate is for.",
            discussion: "In the variable and in a profile an absolute path, or one in your home with ~/.",
            valueName: "file"
        ),
        completion: .file(extensions: ["pub"])
    )
    var publicKey: String?
}

extension PublicKeyOption {
    /// The most bytes that a key's file may have.
    private static let limit = 16_384

    /// Returns the path; `nil` if none is given.
    func path(_ environment: Variables) throws -> String? {
        try environment.given("public-key", publicKey).map(environment.path(of:))
    }

    /// Returns the key in a file.
    ///
    /// - Throws: `UsageError`, `SystemFailure`.
    static func key(at path: String) throws -> SSHPublicKey {
        let read = try PlainFile.read(path, atMost: limit + 1) { status in
            guard status.st_mode & S_IFMT == S_IFREG else { throw UsageError("\(path.printable) is no plain file.") }
        }
        guard let read else {
            throw UsageError(
                "\(path.printable) is not there. To make a pair of keys, run: ssh-keygen -t rsa -b 3072 -f "
                    + base(of: path).printable.shellWord
            )
        }
        guard let text = String(validating: read.bytes, as: UTF8.self) else {
            throw UsageError("\(path.printable) is no text. Name the file of the public key.")
        }
        do {
            return try SSHPublicKey(text)
        } catch { throw UsageError("\(path.printable): \(JSONReport.message(of: error))") }
    }

    /// The path of the private key, which `ssh` derives the certificate's from: without `.pub`.
    static func base(of path: String) -> String { path.hasSuffix(".pub") ? String(path.dropLast(4)) : path }
}
