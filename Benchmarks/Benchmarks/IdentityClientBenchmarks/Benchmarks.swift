// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Benchmark

let benchmarks: @Sendable () -> Void = {
    silentHits()
    changes()
    counts()
    loopback()
}
