// swift-tools-version: 6.2
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let identityClient = Target.Dependency.product(name: "IdentityClient", package: "swift-identity-client")
let identityTesting = Target.Dependency.product(name: "IdentityTesting", package: "swift-identity-client")
let flyingFox = Target.Dependency.product(name: "FlyingFox", package: "FlyingFox")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
    name: "identity-desktop-examples",
    dependencies: [
        .package(name: "swift-identity-client", path: "../.."),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    ],
    targets: [
        // The cloud on this machine, for trying the programs out and for their tests.
        .target(
            name: "StandIn",
            dependencies: [identityClient, identityTesting, flyingFox, httpTypes]
        ),
        .executableTarget(
            name: "stand-in",
            dependencies: ["StandIn"]
        ),
        .testTarget(
            name: "StandInTests",
            dependencies: ["StandIn", flyingFox, identityClient, identityTesting, httpTypes]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [.treatAllWarnings(as: .error)]
}
