// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import OAuthWire
import Synchronization

@testable import IdentityBroker

/// Whether tests may start buses, as `Scripts/test-keyring` lets them.
let startsBuses = unsafe getenv("IDENTITY_KEYRING_TESTS") != nil

/// A bus for one test, which starts a stand-in broker when it is called. Both end with this object.
final class BrokerSession: Sendable {
    let directory: String
    let address: String
    private let process: Int32
    private let hasEnded = Mutex(false)

    struct Failed: Error {}

    /// - Parameter answers: The answers of the stand-in, as it describes them; `nil` if no broker is installed.
    init(_ answers: [String: String]?) throws {
        directory = "/tmp/identity-broker-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: "\(directory)/services", withIntermediateDirectories: true)
        let support = unsafe getenv("IDENTITY_KEYRING_TESTS").map { unsafe String(cString: $0) } ?? ""
        if let answers {
            let json = JSONObject(answers.map { ($0.key, .string($0.value)) })
            try Self.write(String(decoding: json.serialized(), as: UTF8.self), to: "\(directory)/answers")
            let service =
                "[D-BUS Service]\nName=\(BrokerLink.service)\nExec=\(support)/../broker/stand-in \(directory)\n"
            try Self.write(service, to: "\(directory)/services/broker.service")
        }
        let configuration = """
            <busconfig><type>session</type><listen>unix:path=\(directory)/bus</listen>
            <servicedir>\(directory)/services</servicedir><auth>EXTERNAL</auth>
            <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
            <allow own="*"/></policy></busconfig>
            """
        try Self.write(configuration, to: "\(directory)/bus.conf")
        address = "unix:path=\(directory)/bus"
        let command = "timeout 20 dbus-daemon --config-file=\(directory)/bus.conf --fork --nopidfile --print-pid=1"
        guard let pipe = unsafe popen("\(command) </dev/null 2>&1", "re") else { throw Failed() }
        var text: [UInt8] = []
        while case let byte = unsafe fgetc(pipe), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
        guard unsafe pclose(pipe) == 0, let id = Int32(String(decoding: text, as: UTF8.self).filter(\.isNumber)) else {
            throw Failed()
        }
        process = id
    }

    /// Ends the bus.
    func end() {
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        if isFirst { kill(process, SIGKILL) }
    }

    deinit {
        end()
        try? FileManager.default.removeItem(atPath: directory)
    }

    func broker(patience: Duration = .seconds(20)) -> LinuxTokenBroker {
        var settings = BrokerSettings()
        settings.busAddress = address
        settings.patience = patience
        return LinuxTokenBroker(settings)
    }

    /// The calls that the stand-in received: the method, the path, the interface and the arguments.
    func calls() throws -> [[String]] {
        guard let log = try? String(contentsOfFile: "\(directory)/log", encoding: .utf8) else { return [] }
        return try log.split(separator: "\n").map { line in
            let json = try JSONObject(parsing: Array("{\"call\":\(line)}".utf8))
            return json.strings("call") ?? []
        }
    }

    private static func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path))
    }
}

/// A Unix socket that accepts no connection.
final class SilentListener: Sendable {
    private let descriptor: Int32

    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let isBound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isBound, listen(descriptor, 8) == 0 else { throw BrokerSession.Failed() }
    }

    deinit { close(descriptor) }
}
