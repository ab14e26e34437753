// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "grpc",
    products: [.library(name: "AccessTokenInterceptor", targets: ["AccessTokenInterceptor"])],
    dependencies: [
        .package(name: "swift-identity-client", path: "../.."),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    ],
    targets: [
        .target(
            name: "AccessTokenInterceptor",
            dependencies: [
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
            ]
        ),
        .testTarget(
            name: "AccessTokenInterceptorTests",
            dependencies: [
                "AccessTokenInterceptor",
                .product(name: "IdentityTesting", package: "swift-identity-client"),
                .product(name: "GRPCInProcessTransport", package: "grpc-swift-2"),
            ]
        ),
    ]
)
