// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO

/// A value of D-Bus. It never changes, so any thread may read it.
// Reviewed exception: a GVariant is constant and its count of owners atomic.
@safe package final class Variant: @unchecked Sendable {
    package let pointer: UnsafeMutableRawPointer

    /// Takes the value over.
    package init(owning pointer: UnsafeMutableRawPointer) {
        unsafe self.pointer = pointer
    }

    /// Shares the value with whoever lent it.
    package init(borrowing pointer: UnsafeMutableRawPointer) {
        unsafe cgio_variant_ref(pointer)
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe cgio_variant_free(pointer)
    }

    /// Whether this is the value's type, in the letters of D-Bus.
    package func has(type: String) -> Bool {
        unsafe cgio_variant_has_type(pointer, type)
    }

    /// The parts of a tuple, an array, or an entry of a dictionary; none of anything else.
    package var parts: [Variant] {
        (0..<count).compactMap { self[$0] }
    }

    package var count: Int {
        unsafe cgio_variant_count(pointer)
    }

    /// A part of a tuple, an array, or an entry of a dictionary; `nil` where there is none.
    package subscript(index: Int) -> Variant? {
        guard index < count, let part = unsafe cgio_variant_child(pointer, index) else { return nil }
        return unsafe Variant(owning: part)
    }

    /// What a value of type `v` holds, or `nil` for another type.
    package var content: Variant? {
        guard has(type: "v"), let content = unsafe cgio_variant_content(pointer) else { return nil }
        return unsafe Variant(owning: content)
    }

    /// The text of a string or an object path, or `nil` for another type.
    package var text: String? {
        guard has(type: "s") || has(type: "o"), let text = unsafe cgio_variant_string(pointer) else { return nil }
        return unsafe String(cString: text)
    }

    /// `nil` for another type.
    package var bool: Bool? {
        has(type: "b") ? unsafe cgio_variant_bool(pointer) : nil
    }

    /// `nil` for another type.
    package var uint64: UInt64? {
        has(type: "t") ? unsafe cgio_variant_uint64(pointer) : nil
    }

    /// `nil` for another type.
    package var uint32: UInt32? {
        has(type: "u") ? unsafe cgio_variant_uint32(pointer) : nil
    }

    /// The bytes of an array of bytes, or `nil` for another type.
    package var bytes: [UInt8]? {
        guard has(type: "ay") else { return nil }
        var count = 0
        guard let start = unsafe cgio_variant_bytes(pointer, &count) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }

    /// The entries of a dictionary of strings, or `nil` for another type.
    package var dictionary: [String: String]? {
        guard has(type: "a{ss}") else { return nil }
        var entries: [String: String] = [:]
        for entry in parts {
            if let key = entry[0]?.text, let value = entry[1]?.text { entries[key] = value }
        }
        return entries
    }
}
