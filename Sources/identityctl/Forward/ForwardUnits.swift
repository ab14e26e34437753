// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire

/// The user units by which systemd holds the ports of the forwarder, and starts it when a program connects.
struct ForwardUnits {
    /// The name of the socket for commands among those that systemd passes. No profile can have it.
    static let control = "@control"

    /// The texts of the units by their names.
    let texts: [String: String]

    private static let (prefix, service) = ("identityctl-forward", "identityctl-forward.service")

    /// The units of routes.
    ///
    /// - Parameters:
    ///   - ports: The port of each route, by its name.
    ///   - program: The path of this program.
    ///   - hasIPv6: Whether this computer has the address ::1.
    /// - Throws: `UsageError` if no unit can name the program's path.
    init(_ ports: [String: UInt16], program: String, hasIPv6: Bool) throws {
        guard program.utf8.areAlphanumeric(or: "/._-+") else {
            throw UsageError("This program lies where no unit can name it: \(program.printable)")
        }
        var texts = ["\(Self.prefix).socket": Self.socket(Self.control, ["%t/identityctl/forward.control"])]
        for (name, port) in ports {
            let addresses = ["127.0.0.1:\(port)"] + (hasIPv6 ? ["[::1]:\(port)"] : [])
            texts["\(Self.prefix)-\(name).socket"] = Self.socket(
                name,
                addresses + ["%t/identityctl/forward/\(name).sock"]
            )
        }
        texts[Self.service] = Self.service(program, sockets: texts.keys.sorted())
        self.texts = texts
    }

    /// The units that are installed.
    init(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []  // perhaps there is none
        let found = names.filter { $0.hasPrefix(Self.prefix) }.map { name in
            (
                name,
                String(decoding: FileManager.default.contents(atPath: "\(directory)/\(name)") ?? Data(), as: UTF8.self)
            )
        }
        texts = Dictionary(uniqueKeysWithValues: found)
    }

    /// The names of the socket units, in order.
    var sockets: [String] { texts.keys.filter { $0.hasSuffix(".socket") }.sorted() }

    /// The path of the program that the service starts; `nil` without the service.
    var program: String? {
        let line = texts[Self.service]?.split(separator: "\n").first { $0.hasPrefix("ExecStart=") }
        return line?.split(separator: " ").first.map { String($0.dropFirst("ExecStart=".utf8.count)) }
    }

    /// The directory of a person's own units.
    ///
    /// - Throws: `UsageError` without a home directory.
    static func directory(_ variables: Variables) throws -> String {
        if let configuration = try variables.path("XDG_CONFIG_HOME") { return "\(configuration)/systemd/user" }
        guard let home = try variables.path("HOME") else { throw UsageError("There is no home directory: set HOME.") }
        return "\(home)/.config/systemd/user"
    }

    /// Whether this computer has the address ::1.
    static var hasIPv6: Bool { (try? ListeningSockets.open(hosts: [.ipv6], port: 0)) != nil }

    private static func socket(_ name: String, _ addresses: [String]) -> String {
        """
        [Unit]
        Description=Sockets of the identityctl forwarder: \(name)
        Documentation=man:identityctl(1)

        [Socket]
        Service=\(service)
        FileDescriptorName=\(name)
        \(addresses.map { "ListenStream=\($0)" }.joined(separator: "\n"))
        NoDelay=yes
        SocketMode=0600
        DirectoryMode=0700
        RemoveOnStop=yes

        [Install]
        WantedBy=sockets.target

        """
    }

    private static func service(_ program: String, sockets: [String]) -> String {
        """
        [Unit]
        Description=identityctl forwarder: passes programs' requests on with a token
        Documentation=man:identityctl(1)

        [Service]
        Type=notify
        ExecStart=\(program) forward run --exit-idle-time 10m
        Sockets=\(sockets.joined(separator: " "))
        EnvironmentFile=-%E/identityctl/forward.env
        # A browser that a sign-in started goes on.
        KillMode=process
        UMask=0077
        LimitCORE=0
        NoNewPrivileges=yes
        LockPersonality=yes
        RestrictRealtime=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

        """
    }
}
