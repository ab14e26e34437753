// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CCurl

/// Moves bytes between streams and libcurl, between two calls of libcurl.
extension CurlLoop {
    mutating func moveStreams() {
        for (ticket, transfer) in transfers {
            guard case .stream(let stream) = transfer.caller else { continue }
            do {
                try move(stream, of: transfer)
            } catch {
                drop(ticket, because: error as? AuthenticationError ?? CurlDriver.exhausted())
            }
        }
    }

    private func move(_ stream: CurlStream, of transfer: Transfer) throws {
        let pointer = unsafe transfer.pointer
        if unsafe ccurl_transfer_has_answer(pointer), stream.awaitsHead {
            stream.deliver(try head(of: transfer))
        }
        deliverBody(to: stream, of: transfer)
        if unsafe ccurl_transfer_wants_body(pointer), let piece = stream.takeOutgoing() {
            let isTaken = unsafe piece.withUnsafeBytes {
                unsafe ccurl_transfer_give_body(pointer, $0.baseAddress, $0.count)
            }
            guard isTaken else { throw CurlDriver.exhausted() }
        }
        guard unsafe ccurl_transfer_resume(pointer) else {
            throw AuthenticationError(.network, "The transfer with \(transfer.host) could not be moved on. Try again.")
        }
    }

    private func deliverBody(to stream: CurlStream, of transfer: Transfer) {
        guard stream.hasRoom else { return }
        let bytes = body(of: transfer)
        guard !bytes.isEmpty else { return }
        unsafe ccurl_transfer_clear_body(transfer.pointer)
        stream.deliver(bytes)
    }

    /// Passes on the remaining bytes, and the outcome.
    func finish(_ stream: CurlStream, of transfer: Transfer, code: Int) {
        do {
            try checkEnd(of: transfer, code: code)
            if stream.awaitsHead { stream.deliver(try head(of: transfer)) }
            stream.deliver(body(of: transfer))
            stream.end(.success(()))
        } catch {
            stream.end(.failure(error))
        }
    }
}
