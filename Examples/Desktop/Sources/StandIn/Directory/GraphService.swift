// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
import IdentityTesting

/// The parts of Graph that the programs need: `/v1.0/me` and `/v1.0/users`.
struct GraphService: Sendable {
    private static let defaultPageSize = 100
    private static let scopesForMe = ["user.read", "user.readwrite"]
    private static let scopesForUsers = ["user.readbasic.all", "user.read.all", "directory.read.all"]

    let gate: TokenGate

    func answer(_ request: HTTPRequest, _ path: [String], root: URL) async throws -> HTTPResponse {
        let known = try await gate.admit(request)
        guard request.method == .GET else {
            throw HTTPRefusal(.methodNotAllowed, "Request_BadRequest", "Only GET is offered.")
        }
        switch path {
        case ["me"]:
            try require(Self.scopesForMe + Self.scopesForUsers, known)
            guard let person = DirectoryPerson.all.first(where: { $0.id == known.person.objectID }) else {
                throw HTTPRefusal(.notFound, "Request_ResourceNotFound", "The person is not in the directory.")
            }
            return try .json(person)
        case ["users"]:
            try require(Self.scopesForUsers, known)
            return try .json(page(PageRequest(request), root: root))
        default:
            throw HTTPRefusal(.notFound, "Request_ResourceNotFound", "There is nothing here.")
        }
    }

    private struct Page: Encodable {
        var value: [DirectoryPerson]
        var nextLink: String?

        enum CodingKeys: String, CodingKey {
            case value
            case nextLink = "@odata.nextLink"
        }
    }

    private struct PageRequest {
        var filterText: String?
        var filter: DirectoryFilter?
        var size: Int
        var offset: Int

        init(_ request: HTTPRequest) throws {
            let items = request.query
            if let unknown = items.first(where: { !["$filter", "$top", "$skiptoken"].contains($0.name) }) {
                throw HTTPRefusal(.badRequest, "BadRequest", "The stand-in does not know \(unknown.name).")
            }
            filterText = items["$filter"]
            filter = filterText.flatMap(DirectoryFilter.init)
            guard (filterText == nil) == (filter == nil) else {
                throw HTTPRefusal(.badRequest, "BadRequest", "Invalid filter clause: \(filterText ?? "").")
            }
            guard let size = Int(items["$top"] ?? "\(defaultPageSize)"), (1...999).contains(size) else {
                throw HTTPRefusal(.badRequest, "BadRequest", "Invalid page size.")
            }
            guard let offset = Int(items["$skiptoken"]?.dropFirst() ?? "0"), offset >= 0 else {
                throw HTTPRefusal(.badRequest, "Directory_ExpiredPageToken", "The page token is not valid.")
            }
            self.size = size
            self.offset = offset
        }
    }

    private func page(_ request: PageRequest, root: URL) throws -> Page {
        let found = DirectoryPerson.all.filter { request.filter?.matches($0) ?? true }
        let end = request.offset + request.size
        var page = Page(value: Array(found.dropFirst(request.offset).prefix(request.size)))
        if end < found.count {
            var components = URLComponents(url: root.appending(path: "users"), resolvingAgainstBaseURL: false)
            let filter = request.filterText.map { [URLQueryItem(name: "$filter", value: $0)] } ?? []
            components?.queryItems =
                filter + [
                    URLQueryItem(name: "$top", value: "\(request.size)"),
                    URLQueryItem(name: "$skiptoken", value: "m\(end)"),
                ]
            page.nextLink = components?.string
        }
        return page
    }

    private func require(_ scopes: [String], _ known: TestIdentityProvider.Introspection) throws {
        let granted = known.scopes.map { scope in
            scope.rawValue.replacing(Providers.graphScope, with: "").lowercased()
        }
        guard granted.contains(where: scopes.contains) else {
            throw HTTPRefusal(
                .forbidden,
                "Authorization_RequestDenied",
                "Insufficient privileges to complete the operation."
            )
        }
    }
}
