// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// How many files the program may have open.
enum OpenFileLimit {
    /// With fewer, parts of the system end the program without a word (libdispatch for one).
    private static let least: rlim_t = 24

    /// Raises the limit as far as the system allows where it is low.
    ///
    /// - Throws: `SystemFailure` where it stays too low.
    static func check() throws {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < least else {
            return
        }
        limit.rlim_cur = min(limit.rlim_max, 256)
        guard limit.rlim_cur >= least, unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw SystemFailure(
                "This program may open \(limit.rlim_cur) files at a time only, and needs \(least). Raise the limit: ulimit -n"
            )
        }
    }
}
