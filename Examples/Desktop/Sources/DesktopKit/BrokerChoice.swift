// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import IdentityBroker
public import IdentityClient

/// The use of the computer's identity broker, for Entra ID.
public enum BrokerChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// It is not asked.
    case off
    /// It is asked first; the browser signs in where it cannot be used.
    case auto
    /// It alone is asked.
    case required

    /// The setting of an application object.
    public var use: BrokerUse {
        switch self {
        case .off: .off
        case .auto: .whenAvailable(LinuxTokenBroker())
        case .required: .required(LinuxTokenBroker())
        }
    }
}
