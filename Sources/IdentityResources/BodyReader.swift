// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import SystemSupport

/// A reader that reads a body once, from its beginning to its end.
final class BodyReader: TransportBody {
    private struct State {
        /// The remaining segments, the next segment first, each with its length.
        var segments: [(RequestBody.Segment, Int64)]
        var file: ReadableFile?
        /// The remaining bytes of the open file.
        var left: Int64 = 0
    }

    let length: Int64
    private let state: Mutex<State>
    private let meter: ProgressMeter?

    /// The size of a piece in bytes: large enough that switching between threads does not matter.
    static let pieceLength = 256 << 10

    private init(_ segments: [(RequestBody.Segment, Int64)], _ meter: ProgressMeter?) {
        length = segments.reduce(0) { $0 + $1.1 }
        state = Mutex(State(segments: segments.filter { $0.1 > 0 }))
        self.meter = meter
        meter?.begin(total: length)
    }

    /// Creates a reader, and determines the lengths of the files.
    ///
    /// - Throws: `.fileUnavailable` when a file cannot be read.
    static func open(_ body: RequestBody, _ meter: ProgressMeter?) async throws -> BodyReader {
        guard body.segments.contains(where: { if case .file = $0 { true } else { false } }) else {
            return BodyReader(body.segments.map { ($0, Int64($0.knownLength)) }, meter)
        }
        return try await TransferFiles.executor.run {
            let segments = try body.segments.map { segment in
                guard case .file(let path) = segment else { return (segment, Int64(segment.knownLength)) }
                return (segment, try ReadableFile(path).length)
            }
            return BodyReader(segments, meter)
        }
    }

    func next() async throws -> [UInt8]? {
        try Task.checkCancellation()
        let memory: [UInt8]?? = state.withLock { state in
            guard state.file == nil else { return .none }
            guard let (segment, _) = state.segments.first else { return .some(nil) }
            guard case .bytes(let bytes) = segment else { return .none }
            state.segments.removeFirst()
            return .some(bytes)
        }
        let piece = if let memory { memory } else { try await TransferFiles.executor.run { try self.readFile() } }
        if let piece { meter?.add(piece.count) }
        return piece
    }

    private func readFile() throws -> [UInt8]? {
        try state.withLock { state in
            if state.file == nil, case .file(let path)? = state.segments.first?.0 {
                let file = try ReadableFile(path)
                guard file.length == state.segments[0].1 else { throw TransferFiles.changed(path) }
                state.segments.removeFirst()
                state.file = file
                state.left = file.length
            }
            guard let file = state.file else { return nil }
            let bytes = try file.read(atMost: Int(min(Int64(Self.pieceLength), state.left)))
            guard !bytes.isEmpty else { throw TransferFiles.changed(file.path) }
            state.left -= Int64(bytes.count)
            if state.left == 0 { state.file = nil }
            return bytes
        }
    }
}

extension RequestBody.Segment {
    fileprivate var knownLength: Int {
        if case .bytes(let bytes) = self { bytes.count } else { 0 }
    }
}
