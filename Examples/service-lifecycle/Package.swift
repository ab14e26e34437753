// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "service-lifecycle",
    products: [.library(name: "TokenService", targets: ["TokenService"])],
    dependencies: [
        .package(name: "swift-identity-client", path: "../.."),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(
            name: "TokenService",
            dependencies: [
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .testTarget(
            name: "TokenServiceTests",
            dependencies: [
                "TokenService",
                .product(name: "IdentityTesting", package: "swift-identity-client"),
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ]
        ),
    ]
)
