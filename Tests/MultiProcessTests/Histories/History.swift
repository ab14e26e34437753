// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One use of a record: the time of its call and of its return by a clock that all processes share, and its result.
struct HistoryOperation: Sendable, Hashable {
    enum Action: Sendable, Hashable {
        /// A read, and the value that it returned; `nil` if there was none.
        case read(String?)
        /// A replacement; `with: nil` removes. The result is `nil` if the process died in it, or got an error.
        case replace(String?, with: String?, Bool?)
    }

    let action: Action
    let call: UInt64
    /// `nil` if it never returned, or with an error: it took effect at any time after the call, or never.
    let end: UInt64?
}

extension HistoryOperation {
    /// Reads `CALL END r VALUE` or `CALL END w EXPECTED NEW RESULT`, where `-` is no value and `?` an unknown end or result.
    init?(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        func value(_ word: String) -> String? { word == "-" ? nil : word }
        guard words.count > 3, let call = UInt64(words[0]) else { return nil }
        (self.call, end) = (call, UInt64(words[1]))
        switch (words[2], words.count) {
        case ("r", 4): action = .read(value(words[3]))
        case ("w", 6): action = .replace(value(words[3]), with: value(words[4]), end == nil ? nil : Bool(words[5]))
        default: return nil
        }
    }

    /// Reads the log of `HistoryWriter`: two lines for each operation, the second of which may be missing.
    static func log(_ text: String) -> [(record: String, operation: HistoryOperation)] {
        var calls: [String: [String]] = [:]
        var order: [String] = []
        var returns: [String: (time: String, value: String)] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if words.first == "C", words.count >= 5 {
                calls[words[1]] = Array(words.dropFirst(2))
                order.append(words[1])
            } else if words.first == "R", words.count == 4 {
                returns[words[1]] = (words[2], words[3])
            }
        }
        return order.compactMap { number in
            guard let call = calls[number] else { return nil }
            let (time, kind, record) = (call[0], call[1], call[2])
            let known = returns[number].flatMap { $0.value == "?" ? nil : $0 }
            let end = known?.time ?? "?"
            let line: String
            switch kind {
            case "r":
                guard let known else { return nil }  // It returned nothing, so it says nothing.
                line = "\(time) \(end) r \(known.value)"
            default: line = "\(time) \(end) w \(call[3]) \(call[4]) \(known?.value ?? "?")"
            }
            return HistoryOperation(line).map { (record, $0) }
        }
    }
}

/// Decides whether a history of one record is linearizable: whether each operation can have happened at one moment between its
/// call and its return, so that all results are those of a register with compare-and-replace that is empty at first.
///
/// The search is that of Wing and Gong with Lowe's memory of what was tried: operations are put in order one after the other,
/// and a set of operations with the same value after it is tried once. An operation that fits and changes nothing is taken at
/// once, because it stands in no other operation's way.
/// - SeeAlso: J. Wing, C. Gong: Testing and verifying concurrent objects (1993); G. Lowe: Testing for linearizability (2017)
struct HistoryCheck {
    private struct Configuration: Hashable {
        var done: [UInt64]
        var value: String?

        func has(_ index: Int) -> Bool { done[index / 64] & 1 << UInt64(index % 64) != 0 }
        mutating func add(_ index: Int) { done[index / 64] |= 1 << UInt64(index % 64) }
    }

    /// A search that took too long decides nothing.
    struct Undecided: Error {}

    private let operations: [HistoryOperation]
    private static let limit = 2_000_000

    init(_ operations: [HistoryOperation]) {
        self.operations = operations.sorted { $0.call < $1.call }
    }

    /// Says which operations cannot be put in order; `nil` if the history is linearizable.
    func violation() throws -> String? {
        var stack = [Configuration(done: [UInt64](repeating: 0, count: operations.count / 64 + 1), value: nil)]
        var seen = Set(stack)
        var furthest: (count: Int, value: String?, stuck: [HistoryOperation]) = (-1, nil, [])
        while var now = stack.popLast() {
            let ready = settle(&now)
            guard let ready else { return nil }
            let count = now.done.reduce(0) { $0 + $1.nonzeroBitCount }
            if count > furthest.count { furthest = (count, now.value, ready.map { operations[$0] }) }
            for index in ready {
                guard case .replace(now.value, let new, let result) = operations[index].action, result != false else {
                    continue
                }
                var next = now
                next.add(index)
                next.value = new
                if seen.insert(next).inserted { stack.append(next) }
            }
            guard seen.count < Self.limit else { throw Undecided() }
        }
        let stuck = furthest.stuck.map { "\($0)" }.joined(separator: "; ")
        return
            "after \(furthest.count) of \(operations.count) operations the value is \(furthest.value ?? "none"), and none "
            + "of these can be next: \(stuck)"
    }

    /// Takes the operations that fit and change nothing. Returns those that may come next; `nil` when everything that returned
    /// is in order.
    private func settle(_ now: inout Configuration) -> [Int]? {
        while true {
            var (ready, horizon, isEnd) = ([Int](), UInt64.max, true)
            for index in operations.indices where !now.has(index) {
                let operation = operations[index]
                guard operation.call <= horizon else { break }
                ready.append(index)
                if let end = operation.end {
                    isEnd = false
                    horizon = min(horizon, end)
                }
            }
            if isEnd { return nil }
            ready.removeAll { operations[$0].call > horizon }
            let fitting = ready.filter { changesNothing(operations[$0], at: now.value) }
            if fitting.isEmpty { return ready }
            for index in fitting { now.add(index) }
        }
    }

    private func changesNothing(_ operation: HistoryOperation, at value: String?) -> Bool {
        switch operation.action {
        case .read(let read): read == value
        case .replace(let expected, let new, let result):
            result == false && expected != value || result == true && expected == value && new == value
        }
    }
}
