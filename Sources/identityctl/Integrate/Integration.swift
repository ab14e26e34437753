// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A tool that can be set up to ask this program for tokens: a value beside its helper, and a line in ``all``.
struct IntegratedTool: Sendable {
    /// The things for which a tool wants tokens.
    enum Subject: Hashable, Sendable {
        /// Single addresses, which profiles serve.
        case addresses
        /// The sign-in of a profile.
        case profile
        /// Servers of the Model Context Protocol.
        case servers
        /// A host of SSH.
        case host
    }

    let name: String
    let asks: Subject
    /// Whether it can be told to ask a gateway for its model.
    let hasGateway: Bool
    /// The way in which the tool starts a server, if it asks for servers.
    let start: MCPHostStart
    private let make: @Sendable (Home) -> any Integration

    init(
        name: String,
        asks: Subject = .addresses,
        hasGateway: Bool = false,
        start: MCPHostStart = MCPHostStart(),
        _ make: @escaping @Sendable (Home) -> any Integration
    ) {
        (self.name, self.asks, self.hasGateway, self.start, self.make) = (name, asks, hasGateway, start, make)
    }

    func integration(in home: Home) -> any Integration { make(home) }
}

/// A profile, and addresses for which a tool gets its tokens.
struct IntegrationSubject: Sendable {
    /// The profile that gives the tokens; `nil` if an agent on another machine has the profiles.
    let profile: ProfileName?
    /// The addresses that it serves.
    let addresses: [ServedAddress]
    /// The server, for a tool that asks for servers.
    var server: MCPServerEntry?
    /// The gateway, in place of a server.
    var gateway: GatewayEntry?
    /// The host, for SSH.
    var host: String?
}

/// The way to set one tool up. It reads what is there, and plans; ``Change`` does what is planned.
protocol Integration: Sendable {
    /// Returns the missing steps.
    ///
    /// - Throws: `UsageError` if the tool has another setting in place of this one.
    func adding(_ subject: IntegrationSubject) async throws -> IntegrationPlan

    /// Returns the steps that undo the integration of a subject, or all of the tool if `subject` is `nil`.
    func removing(_ subject: IntegrationSubject?) async throws -> IntegrationPlan

    /// Returns what the tool's configuration says of this program.
    func uses() async throws -> [IntegrationUse]

    /// The name by which the tool finds this program, if it has one of its own.
    var link: HelperLink? { get }
}

extension IntegrationPlan {
    /// A note about a tool that asks for every address.
    static let forAll = "This holds for all profiles, and so does --undo."
}

/// A setting by which a tool asks this program.
struct IntegrationUse: Hashable, Sendable {
    /// The address, or the tool's own name for what gets tokens.
    let label: String
    /// The addresses that the tool can mean, if the label is none.
    var others: [ServedAddress] = []
    /// The address of the API that gets the tokens, if the setting names one.
    var resource: String?
    /// The profile that the setting names.
    var profile: String?
    /// The account that the setting names.
    var account: String?
    /// The words after 'integrate' and the tool by which the setting was made, if it is about a gateway or a host.
    var options: [String] = []
    /// The directory of the project that the setting is for; `nil` for all.
    var project: String?
    /// The reason why the tool cannot start this program by this setting, a sentence. To set the tool up again ends it.
    var obstacle: String?
    /// Whether the setting is for each address that a profile serves; with an address as the label, for each port there.
    var isForAll = false
    /// The reason why the tool gets no token by this setting, for a person.
    var problem: String?

    /// The setting's name for a person.
    var text: String { label + (project.map { " in \($0.printable)" } ?? "") }

    /// Whether both are the same setting, perhaps of two versions of this program.
    func isSame(as other: IntegrationUse) -> Bool {
        label == other.label && resource == other.resource && profile == other.profile && account == other.account
    }
}
