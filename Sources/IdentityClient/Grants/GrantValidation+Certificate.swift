// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension GrantValidation {
    /// Checks that an answer is an SSH certificate for the key that was sent, and valid now.
    ///
    /// Its signature is not verified: only a server knows whose certificates it accepts.
    ///
    /// - Returns: The certificate's end, in Unix seconds.
    func certificateEnd(_ text: String, for key: SSHRSAKey) throws -> Int64 {
        let certificate: SSHUserCertificate
        do {
            certificate = try SSHUserCertificate(base64: text)
        } catch { throw AuthenticationError.malformed("\(error)", context) }
        guard certificate.key == key else {
            throw refused("The provider's SSH certificate is for another key. It is not used.")
        }
        let now = environment.clock.unixSeconds
        let skew = environment.configuration.compatibility.clockTolerance.components.seconds
        let (start, end) = (Int64(clamping: certificate.validAfter), Int64(clamping: certificate.validBefore))
        guard start <= now + skew else {
            throw refused("The provider's SSH certificate is not valid yet. Set this computer's clock.")
        }
        guard end > now else {
            throw refused("The provider's SSH certificate has expired already. Set this computer's clock.")
        }
        return end
    }

    private func refused(_ message: String) -> AuthenticationError {
        AuthenticationError(.malformedResponse, message, correlationID: context.correlationID)
    }
}
