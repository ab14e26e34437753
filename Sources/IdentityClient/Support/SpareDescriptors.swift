// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Descriptors that are kept for a write that must not fail for want of one. They are closed with this object.
final class SpareDescriptors: Sendable {
    private final class Spare: Sendable {
        private let descriptor: Descriptor

        init(_ descriptor: consuming Descriptor) {
            self.descriptor = descriptor
        }
    }

    /// As many as a write has open at a time: the directories and locks of a store and of its files, and a record.
    private static let count = 6

    private let spares: [Spare]

    /// - Throws: If this process or the computer has too many files open.
    init() throws(SystemCallError) {
        guard let root = try Descriptor.unread("/") else { throw SystemCallError("open", "/", number: ENOENT) }
        var spares: [Spare] = []
        while spares.count < Self.count - 1 { spares.append(Spare(try root.duplicate())) }
        spares.append(Spare(root))
        self.spares = spares
    }
}
