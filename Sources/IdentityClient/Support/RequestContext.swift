// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Logging

/// The correlation identifier and the logger of one acquisition.
package struct RequestContext: Sendable {
    /// The request's name on both sides.
    package let correlationID: UUID
    package let logger: Logger

    package init(correlationID: UUID?, logger: Logger?) {
        self.correlationID = correlationID ?? UUID()
        var logger = logger ?? Logger.current
        logger[metadataKey: "identity.correlation_id"] = "\(self.correlationID.uuidString.lowercased())"
        self.logger = logger
    }
}
