// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// Bytes of the system with a NUL at the end. File names and variables need not be UTF-8.
package typealias CText = [CChar]

extension CText {
    package init(_ text: String) {
        self = text.utf8CString.map(\.self)
    }

    package init(copying pointer: UnsafePointer<CChar>) {
        var length = 0
        while unsafe pointer[length] != 0 { length += 1 }
        self = unsafe Array(UnsafeBufferPointer(start: pointer, count: length + 1))
    }

    /// Returns the texts of a C array that ends with a null.
    package static func list(_ pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> [CText] {
        var texts: [CText] = []
        guard let pointers = unsafe pointers else { return [] }
        while let pointer = unsafe pointers[texts.count] { unsafe texts.append(CText(copying: pointer)) }
        return texts
    }

    /// The variables of this process, as they are.
    package static var environment: [CText] { unsafe list(environ) }

    /// Calls `body` with a C array of the texts.
    package static func withPointers<Result>(
        _ texts: [CText],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        let all = UnsafeMutableBufferPointer<CChar>.allocate(capacity: texts.reduce(0) { $0 + $1.count })
        let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
        defer {
            unsafe all.deallocate()
            unsafe pointers.deallocate()
        }
        var end = 0
        for (index, text) in texts.enumerated() {
            unsafe (pointers + index).initialize(to: all.baseAddress.map { unsafe $0 + end })
            for byte in text {
                unsafe all.initializeElement(at: end, to: byte)
                end += 1
            }
        }
        unsafe (pointers + texts.count).initialize(to: nil)
        return unsafe body(pointers)
    }
}
