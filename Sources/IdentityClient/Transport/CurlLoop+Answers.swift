// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl
import HTTPTypes

/// The outcome of a transfer.
extension CurlLoop {
    func answer(of transfer: Transfer, code: Int) throws -> CurlDriver.Answer {
        try checkEnd(of: transfer, code: code)
        return CurlDriver.Answer(response: try head(of: transfer), body: body(of: transfer))
    }

    /// Throws if the transfer failed.
    func checkEnd(of transfer: Transfer, code: Int) throws {
        let pointer = unsafe transfer.pointer
        guard code == CCURL_OK else {
            throw CurlFailure(
                code: code,
                reason: unsafe String(cString: ccurl_transfer_reason(pointer, Int32(code))),
                tunnelStatus: unsafe ccurl_transfer_tunnel_status(pointer),
                isTooLarge: unsafe ccurl_transfer_was_too_large(pointer),
                wasSent: unsafe ccurl_transfer_was_sent(pointer)
            ).error(host: transfer.host, place: transfer.place, settings: driver.settings)
        }
        guard unsafe ccurl_transfer_has_answer(pointer) else {
            let failure = CurlFailure(code: CCURL_PARTIAL, reason: "the connection ended inside the head")
            throw failure.error(host: transfer.host, place: transfer.place, settings: driver.settings)
        }
    }

    func head(of transfer: Transfer) throws -> HTTPResponse {
        var count = 0
        let bytes = unsafe Array(
            UnsafeBufferPointer(start: ccurl_transfer_head(transfer.pointer, &count), count: count)
        )
        guard let response = ResponseHead.parse(bytes) else { throw CurlFailure.notHTTP(host: transfer.host) }
        return response
    }

    /// The received bytes of the body.
    func body(of transfer: Transfer) -> [UInt8] {
        var count = 0
        return unsafe Array(UnsafeBufferPointer(start: ccurl_transfer_body(transfer.pointer, &count), count: count))
    }
}
