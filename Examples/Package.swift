// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A user's package: Swift 6 mode, without the flags with which the library itself is built.
let identityClient = Target.Dependency.product(name: "IdentityClient", package: "swift-identity-client")
let identityKeyring = Target.Dependency.product(name: "IdentityKeyring", package: "swift-identity-client")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let identityTesting = Target.Dependency.product(name: "IdentityTesting", package: "swift-identity-client")

let package = Package(
    name: "identity-examples",
    dependencies: [
        .package(name: "swift-identity-client", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "silent-then-interactive",
            dependencies: [identityClient, identityKeyring],
            path: "silent-then-interactive"
        ),
        .target(name: "Notes", dependencies: [identityClient, httpTypes], path: "in-memory-tests/Notes"),
        .testTarget(
            name: "NotesTests",
            dependencies: ["Notes", identityClient, identityTesting, httpTypes],
            path: "in-memory-tests/NotesTests"
        ),
    ]
)
