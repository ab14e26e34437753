// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension Duration {
    var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
