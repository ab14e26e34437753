// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGIO

/// A D-Bus value. It never changes, so any thread may read it.
// Reviewed exception: a GVariant is constant, and its reference count is atomic.
@safe package final class Variant: @unchecked Sendable {
    package let pointer: UnsafeMutableRawPointer

    /// Takes ownership of the value.
    package init(owning pointer: UnsafeMutableRawPointer) {
        unsafe self.pointer = pointer
    }

    /// Retains a value that another owner lent.
    package init(borrowing pointer: UnsafeMutableRawPointer) {
        unsafe cgio_variant_ref(pointer)
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe cgio_variant_free(pointer)
    }

    /// Returns whether the value has the type, given as a D-Bus type string.
    package func has(type: String) -> Bool {
        unsafe cgio_variant_has_type(pointer, type)
    }

    /// The parts of a tuple, an array or a dictionary entry; empty for any other type.
    package var parts: [Variant] {
        (0..<count).compactMap { self[$0] }
    }

    package var count: Int {
        unsafe cgio_variant_count(pointer)
    }

    /// The part at `index` of a tuple, an array or a dictionary entry, or `nil` if there is no such part.
    package subscript(index: Int) -> Variant? {
        guard index < count, let part = unsafe cgio_variant_child(pointer, index) else { return nil }
        return unsafe Variant(owning: part)
    }

    /// The content of a value of type `v`, or `nil` for another type.
    package var content: Variant? {
        guard has(type: "v"), let content = unsafe cgio_variant_content(pointer) else { return nil }
        return unsafe Variant(owning: content)
    }

    /// The text of a string or an object path, or `nil` for another type.
    package var text: String? {
        guard has(type: "s") || has(type: "o"), let text = unsafe cgio_variant_string(pointer) else { return nil }
        return unsafe String(cString: text)
    }

    /// The Boolean, or `nil` for another type.
    package var bool: Bool? {
        has(type: "b") ? unsafe cgio_variant_bool(pointer) : nil
    }

    /// The number of type `UInt64`, or `nil` for another type.
    package var uint64: UInt64? {
        has(type: "t") ? unsafe cgio_variant_uint64(pointer) : nil
    }

    /// The number of type `UInt32`, or `nil` for another type.
    package var uint32: UInt32? {
        has(type: "u") ? unsafe cgio_variant_uint32(pointer) : nil
    }

    /// The number of type `Int32`, or `nil` for another type.
    package var int32: Int32? {
        has(type: "i") ? unsafe cgio_variant_int32(pointer) : nil
    }

    /// The bytes of a byte array, or `nil` for another type.
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
