// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whose a profile is.
enum ProfileOwner: String, Sendable {
    case person, machine
    /// The person's, in place of one of the machine.
    case copy

    /// The words in a list; `nil` for the usual.
    var words: String? {
        switch self {
        case .person: nil
        case .machine: "of the machine"
        case .copy: "your copy of the machine's"
        }
    }
}

extension ProfileDirectory {
    func owner(of name: ProfileName) -> ProfileOwner {
        guard isOwn(name) else { return .machine }
        return isOfMachine(name) ? .copy : .person
    }
}
