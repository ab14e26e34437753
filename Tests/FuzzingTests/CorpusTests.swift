// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

/// Reads every input that fuzzing has kept, including old faults, as the fuzzer reads it. A reading that crashes or hangs
/// fails the run. Scripts/fuzz searches for new inputs.
@Suite struct CorpusTests {
    private static let corpus = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    @Test(.timeLimit(.minutes(1)), arguments: Subject.allCases)
    func readsEveryInputOfTheCorpus(subject: Subject) throws {
        let directory = Self.corpus.appending(path: subject.rawValue)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!files.isEmpty, "\(subject.rawValue) has no corpus")
        for file in files {
            subject.read(Array(try Data(contentsOf: directory.appending(path: file))))
        }
    }
}
