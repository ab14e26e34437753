// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Reads a stream of server-sent events piece by piece.
///
/// - SeeAlso: [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html)
struct EventStream: Sendable {
    /// The place in the stream from which the server can go on; `nil` if it named none.
    private(set) var lastEventID: String?
    /// The pause that the server wants before the stream is opened again, a minute at most.
    private(set) var retry: Duration?

    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var id: String?
    private var hasJustEnded = false
    private var isAtStart = true

    private static let longestPause = 60_000

    init(from lastEventID: String? = nil, retry: Duration? = nil) {
        (self.lastEventID, self.retry) = (lastEventID, retry)
        id = lastEventID
    }

    /// Returns the data of the events that a piece completes, without those that have none.
    ///
    /// - Throws: `MCPMessage.Problem` for an event that is larger than a message may be.
    mutating func add(_ piece: [UInt8]) throws(MCPMessage.Problem) -> [[UInt8]] {
        var events: [[UInt8]] = []
        var start = piece.startIndex
        for index in piece.indices where piece[index] == 0x0A || piece[index] == 0x0D {
            let isSecond = piece[index] == 0x0A && hasJustEnded && index == start && line.isEmpty
            hasJustEnded = piece[index] == 0x0D
            defer { start = index + 1 }
            if isSecond { continue }
            line += piece[start..<index]
            if let event = try endLine() { events.append(event) }
        }
        if start < piece.endIndex {
            line += piece[start...]
            hasJustEnded = false
        }
        guard line.count + data.count <= MCPMessage.maximumBytes + 1024 else { throw .tooLarge }
        return events
    }

    private mutating func endLine() throws(MCPMessage.Problem) -> [UInt8]? {
        defer { line.removeAll(keepingCapacity: line.count <= 64 << 10) }
        if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isAtStart = false
        guard !line.isEmpty else {
            defer { (data, hasData) = ([], false) }
            lastEventID = id
            return data.isEmpty ? nil : data
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: line[..<colon].prefix(8), as: UTF8.self) {
        case "data":
            guard data.count + value.count <= MCPMessage.maximumBytes else { throw .tooLarge }
            if hasData { data.append(0x0A) }
            data += value
            hasData = true
        case "id":
            // It goes into a header field.
            let isUsable = value.count <= 1024 && value.allSatisfy { (0x20...0x7E).contains($0) }
            id = isUsable && !value.isEmpty ? String(decoding: value, as: UTF8.self) : nil
        case "retry":
            if value.allSatisfy({ (0x30...0x39).contains($0) }), !value.isEmpty {
                let wanted = Int(String(decoding: value.prefix(9), as: UTF8.self)) ?? Self.longestPause
                retry = .milliseconds(min(wanted, Self.longestPause))
            }
        default: break
        }
        return nil
    }
}
