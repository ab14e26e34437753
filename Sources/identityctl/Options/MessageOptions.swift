// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import HTTPTypes
import IdentityClient
import IdentityResources

/// Options for the request that is sent, and for where the answer goes. They have no environment variables because
/// they belong to one request.
struct MessageOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The method; GET unless given, POST with --data, PUT with --upload.",
            valueName: "method"
        )
    )
    var method: String?

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp(
            "A header field. Repeatable.",
            discussion: "The command sets Authorization itself.",
            valueName: "name:value"
        )
    )
    var headers: [String] = []

    @Option(
        help: ArgumentHelp(
            "The body: a text, @FILE, or @- for standard input. It is JSON unless a header says otherwise.",
            discussion: "64 MiB at most.",
            valueName: "text"
        )
    )
    var data: String?

    @Option(
        help: ArgumentHelp("A file as the body, with a progress bar on a terminal.", valueName: "file"),
        completion: .file()
    )
    var upload: String?

    @Option(
        name: .customLong("output"),
        help: ArgumentHelp(
            "The file for the complete body of the answer; - for standard output.",
            discussion:
                "It is opened before the request; its permissions stay, and links are followed. A FIFO, a device "
                + "and standard output get the bytes as they arrive.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Flag(name: [.customShort("i"), .long], help: "Print the answer's status and header fields before its body.")
    var include = false

    @Flag(
        name: .shortAndLong,
        help: "Write requests and answers to standard error: methods, addresses, statuses, waits."
    )
    var verbose = false

    @Option(
        help: ArgumentHelp(
            "The time without progress. Unless given, 60 until the answer begins, then unlimited.",
            discussion: "The waits that the API requests may take as long in all.",
            valueName: "seconds"
        )
    )
    var timeout: String?

    func validate() throws {
        for (name, path) in [("upload", upload), ("output", output)] where path?.isEmpty == true {
            throw ValidationError("--\(name): the value is empty.")
        }
    }
}

extension MessageOptions {
    func chosenTimeout() throws -> Duration? {
        try timeout.map { try Given(text: $0, origin: "--timeout").seconds(from: 1) }
    }

    func chosenMethod() throws -> HTTPRequest.Method {
        guard let method else { return upload != nil ? .put : data != nil ? .post : .get }
        guard let method = HTTPRequest.Method(rawValue: method) else {
            throw UsageError("--method: '\(method.printable)' is not a method.")
        }
        return method
    }

    func fields() throws -> HTTPFields {
        var fields = HTTPFields()
        for header in headers {
            let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.last.map { $0.drop { $0 == " " } } ?? ""
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])), HTTPField.isValidValue(String(value))
            else { throw UsageError("--header: '\(header.printable)' is not NAME:VALUE.") }
            guard name != .authorization else {
                throw UsageError("--header: this command sets Authorization itself.")
            }
            fields.append(HTTPField(name: name, value: String(value)))
        }
        return fields
    }

    /// - Throws: `UsageError`, or an error of reading standard input.
    func body() async throws -> RequestBody? {
        if data != nil, upload != nil { throw UsageError("Give one of --data and --upload, not both.") }
        if let upload { return .file(upload, contentType: nil) }
        guard let data else { return nil }
        if data == "@-" { return .bytes(try await StandardInput.whole()) }
        return data.hasPrefix("@") ? .file(String(data.dropFirst()), contentType: nil) : .bytes(Array(data.utf8))
    }

    var defaultContentType: String { upload == nil ? "application/json" : "application/octet-stream" }
}
