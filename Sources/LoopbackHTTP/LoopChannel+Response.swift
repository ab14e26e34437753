// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension LoopChannel {
    /// Sends an answer from the task that created it.
    func send(_ response: LoopbackResponse, to request: LoopbackRequest, on connection: UInt64, keepsAlive: Bool) async
    {
        let writer = LoopbackBodyWriter { bytes in
            try Task.checkCancellation()
            try await withCheckedThrowingContinuation { continuation in
                self.post(Delivery(connection: connection, bytes: bytes, next: .more(continuation)))
            }
        }
        var rest: [UInt8] = []
        var staysOpen = false
        switch response.body {
        case .bytes:
            staysOpen = keepsAlive && !response.closesConnection
            rest = response.encoded(for: request.method, closing: !staysOpen)
        case .stream(let produce):
            // If the closure throws, the client's answer ends early.
            try? await writer.write(response.encoded(for: request.method, closing: true))
            if request.method != "HEAD" { try? await produce(writer) }
        case .raw(let produce):
            try? await produce(writer)
        }
        let next = Delivery.Next.end(keepsAlive: staysOpen, onDelivery: response.onDelivery)
        post(Delivery(connection: connection, bytes: rest, next: next))
    }
}
