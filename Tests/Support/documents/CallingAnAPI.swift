// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

struct Hash {
    func update(_ bytes: [UInt8]) {}
}
let hash = Hash()
var photo: URL { url }
var notes: URL { url }
nonisolated(unsafe) var list: [Any] = []
func onMainContext(_ work: @escaping @Sendable () -> Void) {}
