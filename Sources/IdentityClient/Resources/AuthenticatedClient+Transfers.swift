// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension AuthenticatedClient {
    /// Sends `request`, and gives the answer as soon as its head is there; the body arrives piece by piece.
    ///
    /// There is no limit to the body's size, and none to the time it takes, as long as something moves.
    /// - Throws: As ``send(_:body:)``.
    public func stream(
        _ request: HTTPRequest,
        body: RequestBody? = nil
    ) async throws -> (response: HTTPResponse, body: ResponseBody) {
        let exchange = try await ResourceCall(self).run(request, body)
        return (exchange.response, ResponseBody(exchange))
    }

    /// Begins to send `body`, which is read piece by piece; the answer is given back in memory.
    ///
    /// A POST or PUT is usual. The progress is that of the upload; it begins anew when the request has to be repeated,
    /// after a 401 for example. ``Transfer/value`` throws as ``send(_:body:)``.
    public func upload(_ body: RequestBody, with request: HTTPRequest) -> Transfer {
        let client = self
        return Transfer { meter in
            let exchange = try await ResourceCall(client).run(request, body, meter)
            return (exchange.response, try await exchange.wholeBody(atMost: client.maximumResponseBytes))
        }
    }

    /// Begins to fetch the answer's body into the file at `path`.
    ///
    /// The file is written under another name beside it, `path` with `.part` and some letters, and gets its name when
    /// it is complete and on the disk. A file that had the name before is replaced, and its permissions stay; links are
    /// followed. A download that ends early leaves nothing. An answer outside 200 to 299 leaves no file either: its body
    /// is given back in memory. What is at `path` and is no file, a FIFO or a device, is written as the bytes come; that
    /// the reader of a FIFO goes away is SIGPIPE to a program that does not ignore it.
    /// ``Transfer/value`` throws as ``send(_:body:)``, and `.fileUnavailable` when the file cannot be written: before
    /// anything is sent, where that is known by then.
    public func download(_ request: HTTPRequest, body: RequestBody? = nil, to path: String) -> Transfer {
        let client = self
        return Transfer { meter in
            // Before anything is sent: an answer that cannot be kept is not asked for.
            let file = try await PartialFile.open(path)
            do {
                let exchange = try await ResourceCall(client).run(request, body)
                guard exchange.response.status.kind == .successful else {
                    await file.discard()
                    return (exchange.response, try await exchange.wholeBody(atMost: client.maximumResponseBytes))
                }
                meter.begin(total: exchange.response.contentLength)
                while let piece = try await exchange.next() {
                    try await file.write(piece)
                    meter.add(piece.count)
                }
                try Task.checkCancellation()
                try await file.finish()
                meter.finish()
                return (exchange.response, [])
            } catch {
                await file.discard()
                throw error
            }
        }
    }
}

extension HTTPResponse {
    var contentLength: Int64? {
        headerFields[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
