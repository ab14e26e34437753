// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// A directory that only this user can enter.
struct TemporaryDirectory {
    let path: String

    /// Makes one in `$TMPDIR`, or `/tmp`.
    init() throws {
        let parent = Environment.process["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/identityctl-XXXXXX\0".utf8CString.dropLast())
        let isMade = unsafe template.withUnsafeMutableBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe mkdtemp($0) != nil } ?? false
        }
        guard isMade else {
            throw SystemFailure("No temporary directory could be made in \(parent)", number: errno)
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes it with everything in it.
    func remove() {
        // What cannot be removed lies in a temporary directory, and holds nothing but the demo's worthless tokens.
        try? FileManager.default.removeItem(atPath: path)
    }
}
