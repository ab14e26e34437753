// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation

/// An error answer in Graph's form.
struct HTTPRefusal: Error {
    var status: HTTPStatusCode
    var code: String
    var message: String
    var headers: [HTTPHeader: String]

    init(_ status: HTTPStatusCode, _ code: String, _ message: String, headers: [HTTPHeader: String] = [:]) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    var response: HTTPResponse {
        var response = HTTPResponse.failure(status, code, message)
        for (name, value) in headers { response.headers[name] = value }
        return response
    }

    /// Returns the answer of a service that has its own body for errors.
    func response(_ body: some Encodable) throws -> HTTPResponse {
        var response = try HTTPResponse.json(body, status: status)
        for (name, value) in headers { response.headers[name] = value }
        return response
    }
}

extension HTTPResponse {
    static func json(_ value: some Encodable, status: HTTPStatusCode = .ok) throws -> HTTPResponse {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return HTTPResponse(
            statusCode: status,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: try encoder.encode(value)
        )
    }

    static func failure(_ status: HTTPStatusCode, _ code: String, _ message: String) -> HTTPResponse {
        struct Body: Encodable {
            struct Words: Encodable {
                var code: String
                var message: String
            }
            var error: Words
        }
        let body = Body(error: Body.Words(code: code, message: message))
        return (try? json(body, status: status)) ?? HTTPResponse(statusCode: status)  // two strings are always JSON
    }
}

extension HTTPRequest {
    func decode<Value: Decodable>(_ type: Value.Type, from body: Data) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw HTTPRefusal(.badRequest, "BadRequest", "The body is not the JSON that is expected here.")
        }
    }
}
