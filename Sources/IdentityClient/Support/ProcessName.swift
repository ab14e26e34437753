// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The system's name of a process.
package enum ProcessName {
    /// The name of the program, at most 15 bytes; `nil` if the process is gone or hidden.
    package static func of(_ process: UInt32) -> String? {
        // The name is only for people: on any failure it is unknown.
        guard let proc = try? Descriptor.directory("/proc"), let directory = try? proc.directory("\(process)"),
            let bytes = try? directory.file("comm")?.read(atMost: 64)
        else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
