// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import StandIn

// Runs the stand-in for the cloud until it is ended, so that several programs share it and outlive each other:
//
//   swift run stand-in [PORT [CODE]]   prints STAND_IN=http://127.0.0.1:PORT, which the programs take as --stand-in;
//                                      with a CODE, people type it on a separate page after the password

let arguments = CommandLine.arguments.dropFirst()
let port = arguments.first.map { UInt16($0) } ?? 0
guard let port, arguments.count <= 2 else {
    FileHandle.standardError.write(Data("usage: stand-in [PORT [CODE]]\n".utf8))
    exit(64)
}
let standIn = try await StandIn.start(port: port, code: arguments.dropFirst().first)
print("STAND_IN=\(standIn.addresses.root.absoluteString)")
fflush(nil)
while true { try await Task.sleep(for: .seconds(86_400)) }
