// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "own-transport",
    products: [
        .library(name: "AsyncHTTPClientTransport", targets: ["AsyncHTTPClientTransport"])
    ],
    dependencies: [
        .package(name: "swift-identity-client", path: "../.."),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .target(
            name: "AsyncHTTPClientTransport",
            dependencies: [
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .testTarget(
            name: "AsyncHTTPClientTransportTests",
            dependencies: [
                "AsyncHTTPClientTransport",
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "IdentityTesting", package: "swift-identity-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
    ]
)
