// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension IntegratedTool {
    static let docker = IntegratedTool(name: "docker") { .docker(in: $0) }
    static let containers = IntegratedTool(name: "containers") { .containers(in: $0) }
}

extension Integration where Self == DockerIntegration {
    fileprivate static func docker(in home: Home) -> DockerIntegration {
        let directory = home.environment["DOCKER_CONFIG"] ?? "\(home.path)/.docker"
        return DockerIntegration(
            home: home,
            program: "Docker",
            path: "\(directory)/config.json",
            other: { .containers(in: home) }
        )
    }

    /// Podman, skopeo and buildah, which read a file of docker's form.
    ///
    /// - SeeAlso: `man containers-auth.json`
    fileprivate static func containers(in home: Home) -> DockerIntegration {
        let path = home.environment["REGISTRY_AUTH_FILE"] ?? "\(home.configuration)/containers/auth.json"
        return DockerIntegration(home: home, program: "Podman", path: path, other: { .docker(in: home) })
    }
}

/// Docker and its like, whose files have no command of their own.
struct DockerIntegration: Integration {
    let home: Home
    /// The name in messages.
    let program: String
    let path: String
    /// The other integration with the same link.
    let other: @Sendable () -> DockerIntegration

    private var name: HelperLink { HelperLink(.docker, home) }
    var link: HelperLink? { name }

    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var settings = try DockerSettings(file)
        let left = subject.addresses.filter { DockerSettings.host(of: $0) == nil }
        let hosts = subject.addresses.compactMap(DockerSettings.host)
        guard !hosts.isEmpty else {
            throw UsageError("\(program) asks for hosts without a path, and the profile serves none.")
        }
        let added = try settings.add(hosts, path: path, of: program)
        return IntegrationPlan(
            changes: try name.making() + write(file, settings, added, "'identityctl' for"),
            notes: left.map { "\(program) asks for hosts alone, so not for \($0.text)." }
                + [name.obstacle].compactMap(\.self)
        )
    }

    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan {
        let file = try ConfigFile(path)
        var settings = try DockerSettings(file)
        let removed = settings.remove(subject?.addresses.compactMap(DockerSettings.host))
        let isNeeded = try !settings.uses.isEmpty || !DockerSettings(ConfigFile(other().path)).uses.isEmpty
        return IntegrationPlan(
            changes: write(file, settings, removed, "no helper for") + (isNeeded ? [] : name.removing())
        )
    }

    func uses() async throws -> [IntegrationUse] {
        try DockerSettings(try ConfigFile(path)).uses.map { label in
            IntegrationUse(label: label, others: DockerCredential.addresses(String(label.trimmingPrefix("https://"))))
        }
    }

    private func write(
        _ file: ConfigFile,
        _ settings: DockerSettings,
        _ hosts: [String],
        _ summary: String
    ) -> [Change] {
        hosts.isEmpty
            ? [] : [.write(file, settings.bytes, "\(summary) \(hosts.joined(separator: ", ")) in credHelpers")]
    }
}

/// The content of docker's `config.json`.
///
/// - SeeAlso: [docker login](https://docs.docker.com/reference/cli/docker/login/), "Credential helpers"
struct DockerSettings: Sendable {
    private static let helper = "identityctl"
    private static let member = "credHelpers"

    private var object: JSONObject
    private let indentation: String
    private let end: String

    /// - Throws: `UsageError` if the file is no JSON object of the known form. It stays as it is.
    init(_ file: ConfigFile) throws {
        let bytes = file.bytes ?? []
        if bytes.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
            (object, indentation, end) = (JSONObject(), "\t", "\n")
            return
        }
        guard let object = try? JSONObject(parsing: bytes, maximumDepth: 100) else {
            throw JSONText.invalid(file, bytes, ", in which docker allows no comments")
        }
        guard object[Self.member] == nil || object.object(Self.member) != nil else {
            throw UsageError("\(file.path.printable): credHelpers is no object. Nothing was changed.")
        }
        self.object = object
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let blanks = lines.count > 1 ? lines[1].prefix { $0 == 0x20 || $0 == 0x09 } : []
        indentation = blanks.isEmpty ? "\t" : String(decoding: blanks, as: UTF8.self)
        end = bytes.last == UInt8(ascii: "\n") ? "\n" : ""
    }

    /// The file's bytes, with all other members as they were; none if there is no member left.
    var bytes: [UInt8] { object.isEmpty ? [] : Array((object.indented(by: indentation) + end).utf8) }

    /// The addresses of the hosts for which docker asks this program.
    var uses: [String] {
        let hosts = helpers.members.filter { $0.value.string == Self.helper }.map { "https://\($0.name)" }
        return hosts + (object.string("credsStore") == Self.helper ? ["all registries"] : [])
    }

    private var helpers: JSONObject { object.object(Self.member) ?? JSONObject() }

    /// Returns the host and port as docker names it, without a scheme; `nil` if docker never asks for the address.
    static func host(of address: ServedAddress) -> String? {
        address.depth == 0 ? String(address.text.trimmingPrefix("https://").trimmingPrefix("http://")) : nil
    }

    /// - Returns: The hosts that were missing.
    /// - Throws: `UsageError` if a host has another helper.
    mutating func add(_ hosts: [String], path: String, of program: String) throws -> [String] {
        var helpers = helpers
        let missing = hosts.filter { helpers[$0]?.string != Self.helper }
        for host in missing {
            if let other = helpers[host] {
                throw UsageError(
                    "\(program) asks '\((other.string ?? "another helper").printable)' for \(host) already. If identityctl shall answer, "
                        + "first remove that line from credHelpers in \(path.printable)."
                )
            }
            helpers[host] = .string(Self.helper)
        }
        if !missing.isEmpty { object[Self.member] = .object(helpers) }
        return missing
    }

    /// - Parameter hosts: `nil` for all.
    /// - Returns: The hosts that were there.
    mutating func remove(_ hosts: [String]?) -> [String] {
        var helpers = helpers
        let removed = helpers.members.filter { member in
            member.value.string == Self.helper && hosts?.contains(member.name) != false
        }.map(\.name)
        for host in removed { helpers[host] = nil }
        if !removed.isEmpty { object[Self.member] = helpers.isEmpty ? nil : .object(helpers) }
        return removed
    }
}
