// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "configuration",
    products: [.library(name: "SignInConfiguration", targets: ["SignInConfiguration"])],
    dependencies: [
        .package(name: "swift-identity-client", path: "../.."),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    ],
    targets: [
        .target(
            name: "SignInConfiguration",
            dependencies: [
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "Configuration", package: "swift-configuration"),
            ]
        ),
        .testTarget(
            name: "SignInConfigurationTests",
            dependencies: [
                "SignInConfiguration",
                .product(name: "IdentityTesting", package: "swift-identity-client"),
            ]
        ),
    ]
)
