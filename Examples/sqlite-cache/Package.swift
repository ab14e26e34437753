// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let identityClient = Target.Dependency.product(name: "IdentityClient", package: "swift-identity-client")
let identityCacheTesting = Target.Dependency.product(name: "IdentityCacheTesting", package: "swift-identity-client")

let package = Package(
    name: "sqlite-cache",
    products: [
        .library(name: "SQLiteTokenCache", targets: ["SQLiteTokenCache"])
    ],
    dependencies: [
        .package(name: "swift-identity-client", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .target(
            name: "SQLiteTokenCache",
            dependencies: [
                identityClient, .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]
        ),
        // The worker program of the test with many processes.
        .executableTarget(
            name: "sqlite-cache-worker",
            dependencies: ["SQLiteTokenCache", identityCacheTesting],
            path: "Sources/cache-worker"
        ),
        .testTarget(
            name: "SQLiteTokenCacheTests",
            dependencies: [
                "SQLiteTokenCache", "sqlite-cache-worker", identityClient, identityCacheTesting,
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
    ]
)
