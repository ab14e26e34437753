// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// Reads a stream of server-sent events piece by piece.
///
/// - SeeAlso: [Server-sent events](https://html.spec.whatwg.org/multipage/server-sent-events.html)
struct EventStream: Sendable {
    enum Event: Hashable, Sendable {
        /// The data of a message, which may be none of JSON-RPC.
        case message([UInt8])
        /// A message that is larger than one may be. The rest of it is skipped.
        case tooLarge
    }

    /// The place in the stream from which the server can go on; `nil` if it named none.
    private(set) var lastEventID: String?
    /// The pause that the server wants before the stream is opened again, a minute at most.
    private(set) var retry: Duration?

    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    /// Whether the event is a message. An event of another name, such as `ping` or `endpoint`, is none.
    private var isMessage = true
    private var isSkipped = false
    private var id: String?
    private var hasJustEnded = false
    private var isAtStart = true

    private static let longestPause = 60_000

    init(from lastEventID: String? = nil, retry: Duration? = nil) {
        (self.lastEventID, self.retry) = (lastEventID, retry)
        id = lastEventID
    }

    /// Returns the messages that a piece completes, without those that have no data.
    mutating func add(_ piece: [UInt8]) -> [Event] {
        var events: [Event] = []
        var start = piece.startIndex
        for index in piece.indices where piece[index] == 0x0A || piece[index] == 0x0D {
            let isSecond = piece[index] == 0x0A && hasJustEnded && index == start && line.isEmpty
            hasJustEnded = piece[index] == 0x0D
            defer { start = index + 1 }
            if isSecond { continue }
            if let event = append(piece[start..<index]) ?? endLine() { events.append(event) }
        }
        if start < piece.endIndex {
            if let event = append(piece[start...]) { events.append(event) }
            hasJustEnded = false
        }
        return events
    }

    /// - Returns: The event that becomes too large, since its end may never come.
    private mutating func append(_ part: ArraySlice<UInt8>) -> Event? {
        // Of a line that is skipped counts only that it is not empty.
        line += isSkipped && !line.isEmpty ? [] : part
        guard !isSkipped, line.count + data.count > MCPMessage.maximumBytes + 1024 else { return nil }
        (isSkipped, line, data) = (true, [0], [])
        return isMessage ? .tooLarge : nil
    }

    private mutating func endLine() -> Event? {
        defer { line.removeAll(keepingCapacity: line.count <= 64 << 10) }
        if isAtStart, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        isAtStart = false
        guard !line.isEmpty else {
            defer { (data, hasData, isMessage, isSkipped) = ([], false, true, false) }
            lastEventID = id
            return data.isEmpty || !isMessage ? nil : .message(data)
        }
        guard !isSkipped else { return nil }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: line[..<colon].prefix(8), as: UTF8.self) {
        case "data":
            if hasData {
                data.append(0x0A)
                data += value
            } else {
                // A large message is not copied.
                let start = value.startIndex
                value = []
                line.removeFirst(start)
                swap(&data, &line)
            }
            hasData = true
        case "event": isMessage = value.isEmpty || value.elementsEqual("message".utf8)
        case "id":
            // It goes into a header field.
            let isUsable = value.count <= 1024 && value.arePrintable
            id = isUsable && !value.isEmpty ? String(decoding: value, as: UTF8.self) : nil
        case "retry":
            if value.areDigits, !value.isEmpty {
                let wanted = Int(String(decoding: value.prefix(9), as: UTF8.self)) ?? Self.longestPause
                retry = .milliseconds(min(wanted, Self.longestPause))
            }
        default: break
        }
        return nil
    }
}
