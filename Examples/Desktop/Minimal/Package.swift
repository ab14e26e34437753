// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The smallest program with a window, to copy with its folder. A copy names the library by its repository instead:
// `.package(url: "…/swift-identity-client", from: "0.9.0")`.
let package = Package(
    name: "minimal",
    dependencies: [.package(name: "swift-identity-client", path: "../../..")],
    targets: [
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .executableTarget(
            name: "Minimal",
            dependencies: [
                "CGTK",
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "IdentityGLib", package: "swift-identity-client"),
                .product(name: "IdentityKeyring", package: "swift-identity-client"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
