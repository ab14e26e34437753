// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import Testing

@testable import identityctl

@Suite struct ProgressBarTests {
    @Test func showsShareSizeAndSpeed() {
        var bar = ProgressBar()
        let start = ContinuousClock.now
        let total: Int64 = 200_000_000
        #expect(
            bar.text(TransferProgress(completedBytes: 0, totalBytes: total), at: start)
                == "[........................] 0 %, 0 B of 200.0 MB"
        )
        #expect(
            bar.text(TransferProgress(completedBytes: 50_000_000, totalBytes: total), at: start + .seconds(2))
                == "[######..................] 25 %, 50.0 MB of 200.0 MB, 25.0 MB/s"
        )
        #expect(
            bar.text(TransferProgress(completedBytes: total, totalBytes: total), at: start + .seconds(4))
                == "[########################] 100 %, 200.0 MB of 200.0 MB, 50.0 MB/s"
        )
    }

    @Test func showsTheSizeAloneWhereTheTotalIsNotKnown() {
        var bar = ProgressBar()
        #expect(bar.text(TransferProgress(completedBytes: 1234, totalBytes: nil), at: .now) == "1.2 kB")
    }

    @Test func isFullForAnEmptyFile() {
        var bar = ProgressBar()
        let text = bar.text(TransferProgress(completedBytes: 0, totalBytes: 0), at: .now)
        #expect(text == "[########################] 100 %, 0 B of 0 B")
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12.3 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (5_000_000_000, "5.0 GB"), (Int64.max, "9223372.0 TB"),
    ])
    func writesSizes(bytes: Int64, text: String) {
        #expect(ProgressBar.size(bytes) == text)
    }
}
