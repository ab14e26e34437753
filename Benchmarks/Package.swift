// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

// What the library costs, apart from the library's own package so that its users never resolve the tools.
let package = Package(
    name: "benchmarks",
    dependencies: [
        .package(name: "swift-identity-client", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .target(
            name: "BenchmarkSetup",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "IdentityMSALCaches", package: "swift-identity-client"),
                .product(name: "IdentityTesting", package: "swift-identity-client"),
            ],
            path: "Benchmarks/BenchmarkSetup"
        ),
        // Our side of Scripts/bench-peers.
        .executableTarget(
            name: "PeerRounds",
            dependencies: [
                "BenchmarkSetup",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "IdentityTesting", package: "swift-identity-client"),
            ],
            path: "Benchmarks/PeerRounds"
        ),
        // Scripts/bench-keyring.
        .executableTarget(
            name: "KeyringRounds",
            dependencies: [
                "BenchmarkSetup",
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "IdentityKeyring", package: "swift-identity-client"),
            ],
            path: "Benchmarks/KeyringRounds"
        ),
        .executableTarget(
            name: "IdentityClientBenchmarks",
            dependencies: [
                "BenchmarkSetup",
                .product(name: "Benchmark", package: "benchmark"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "IdentityClient", package: "swift-identity-client"),
                .product(name: "IdentityTesting", package: "swift-identity-client"),
            ],
            path: "Benchmarks/IdentityClientBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .plugin {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
