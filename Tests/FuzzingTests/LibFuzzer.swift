// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

private let subject: Subject = {
    let name = ProcessInfo.processInfo.environment["FUZZ_SUBJECT"] ?? ""
    guard let subject = Subject(rawValue: name) else {
        fatalError("FUZZ_SUBJECT must be one of \(Subject.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return subject
}()

/// The function that libFuzzer calls with each input. Only Scripts/fuzz builds it.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe subject.read(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
