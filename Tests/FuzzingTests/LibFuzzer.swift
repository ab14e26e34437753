// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

private let subject: Subject = {
    let name = ProcessInfo.processInfo.environment["FUZZ_SUBJECT"] ?? ""
    guard let subject = Subject(rawValue: name) else {
        fatalError("FUZZ_SUBJECT must be one of \(Subject.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return subject
}()

/// libFuzzer, which takes the options of the command line. Only Scripts/fuzz links it.
@_extern(c, "LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ read: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

@main
private enum LibFuzzer {
    static func main() {
        var count = CommandLine.argc
        var arguments = unsafe CommandLine.unsafeArgv
        exit(
            unsafe runDriver(&count, &arguments) { bytes, count in
                unsafe subject.read(Array(UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            }
        )
    }
}
