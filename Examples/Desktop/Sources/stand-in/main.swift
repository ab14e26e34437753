// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import StandIn

// Runs the stand-in for the cloud until it is ended, so that several programs share it and outlive each other:
//
//   swift run stand-in [PORT]          prints STAND_IN=http://127.0.0.1:PORT, which the programs take as --stand-in

let port = CommandLine.arguments.dropFirst().first.map { UInt16($0) } ?? 0
guard let port else {
    FileHandle.standardError.write(Data("usage: stand-in [PORT]\n".utf8))
    exit(64)
}
let standIn = try await StandIn.start(port: port)
print("STAND_IN=\(standIn.addresses.root.absoluteString)")
fflush(nil)
while true { try await Task.sleep(for: .seconds(86_400)) }
