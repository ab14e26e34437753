// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc

/// The number of files that the program may have open.
enum OpenFileLimit {
    /// The smallest sufficient limit. With fewer files, parts of the system (such as libdispatch) end the program
    /// without a message.
    private static let least: rlim_t = 24

    /// Raises a low limit as far as the system allows.
    ///
    /// - Throws: `SystemFailure` if the limit stays too low.
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
