// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

// Fetched only with the traits Metrics and Tracing.
let telemetryPackages: [Package.Dependency] = [
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
]

/// Whether a variable is set. An empty one counts as unset.
func isSet(_ name: String) -> Bool { !(Context.environment[name] ?? "").isEmpty }

let package = Package(
    name: "swift-identity-client",
    products: [
        .library(name: "IdentityClient", targets: ["IdentityClient"]),
        .library(name: "IdentityResources", targets: ["IdentityResources"]),
        .library(name: "IdentityKeyring", targets: ["IdentityKeyring"]),
        .library(name: "IdentityCapture", targets: ["IdentityCapture"]),
        .library(name: "IdentityMSALCaches", targets: ["IdentityMSALCaches"]),
        .library(name: "IdentityMSALKeyring", targets: ["IdentityMSALKeyring"]),
        .library(name: "IdentityPostgreSQL", targets: ["IdentityPostgreSQL"]),
        .library(name: "IdentityBroker", targets: ["IdentityBroker"]),
        .library(name: "IdentityTesting", targets: ["IdentityTesting"]),
        .library(name: "IdentityCacheTesting", targets: ["IdentityCacheTesting"]),
        .library(name: "IdentityGLib", targets: ["IdentityGLib"]),
        .library(name: "IdentityWebView", targets: ["IdentityWebView"]),
        .executable(name: "identityctl", targets: ["identityctl"]),
    ],
    traits: [
        // On by default only where a script asks for it, which then compiles everything for debugging once.
        .default(enabledTraits: isSet("IDENTITY_WEB_VIEW") ? ["WebView"] : []),
        .trait(name: "WebView", description: "IdentityWebView, which needs WebKitGTK's headers; empty without this."),
        .trait(name: "Metrics", description: "Counts and times for swift-metrics."),
        .trait(name: "Tracing", description: "Spans for swift-distributed-tracing."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ] + telemetryPackages,
    targets: [
        // The library, and what it is built of.
        .target(
            name: "IdentityClient",
            dependencies: [
                "OAuthWire", "LoopbackHTTP", "SystemSupport", "IdentityTelemetry", "CCurl", crypto, cryptoExtras,
                httpTypes,
                logging,
            ]
        ),
        .target(name: "OAuthWire", dependencies: [crypto, cryptoExtras]),
        .target(name: "LoopbackHTTP", dependencies: ["SystemSupport"]),
        // Descriptors, processes, locks, threads and waits. It knows no OAuth.
        .target(name: "SystemSupport", dependencies: ["CSystemSupport"]),
        .target(name: "CSystemSupport"),
        // The seam for metrics and traces. Only the traits bring the packages.
        .target(
            name: "IdentityTelemetry",
            dependencies: [
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
            ]
        ),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("dl")]),

        // Passes requests on with tokens. It knows no OAuth: a desk has the tokens.
        .target(name: "TokenForwarding", dependencies: ["LoopbackHTTP", "SystemSupport", "CCurl"]),

        // Calls APIs with the tokens.
        .target(name: "IdentityResources", dependencies: ["IdentityClient", "OAuthWire", httpTypes, logging]),

        // The desktop's keyring. libsecret and GLib are loaded when it is first used: nothing links them.
        .target(
            name: "IdentityKeyring",
            dependencies: [
                "IdentityClient", "IdentityTelemetry", "GLibSupport", "SystemSupport", "CLibSecret", crypto, logging,
            ]
        ),
        // A sign-in's requests and answers, without secrets, for a support case.
        .target(
            name: "IdentityCapture",
            dependencies: ["IdentityClient", "OAuthWire", "SystemSupport", httpTypes, logging]
        ),

        // The files and keyring items of programs with other MSALs.
        .target(name: "IdentityMSALCaches", dependencies: ["IdentityClient", "OAuthWire", "SystemSupport"]),
        .target(
            name: "IdentityMSALKeyring",
            dependencies: ["IdentityClient", "IdentityKeyring", "IdentityMSALCaches", "SystemSupport"]
        ),

        // A table of PostgreSQL that several hosts share. libpq is loaded when it is first used.
        .target(
            name: "IdentityPostgreSQL",
            dependencies: ["IdentityClient", "OAuthWire", "SystemSupport", "CPostgreSQL"]
        ),
        .target(name: "CPostgreSQL", linkerSettings: [.linkedLibrary("dl")]),

        .target(name: "GLibSupport", dependencies: ["CGIO", "SystemSupport"]),
        .target(name: "CLibSecret", dependencies: ["CGIO"], linkerSettings: [.linkedLibrary("dl")]),
        .target(name: "CGIO", linkerSettings: [.linkedLibrary("dl")]),

        // The computer's identity broker, over D-Bus. GLib is loaded when it is first used.
        .target(name: "IdentityBroker", dependencies: ["IdentityClient", "GLibSupport", "SystemSupport", "OAuthWire"]),

        // GTK's thread as an actor. It knows no OAuth.
        .target(name: "IdentityGLib"),
        // The sign-in page in a window. Only the trait brings WebKitGTK: no other build needs its headers.
        .target(
            name: "IdentityWebView",
            dependencies: ["IdentityClient", .target(name: "CWebKitGTK", condition: .when(traits: ["WebView"]))],
            path: "IdentityWebView/Sources/IdentityWebView"
        ),
        .systemLibrary(
            name: "CWebKitGTK",
            path: "IdentityWebView/Sources/CWebKitGTK",
            pkgConfig: "webkitgtk-6.0",
            providers: [.apt(["libwebkitgtk-6.0-dev"])]
        ),

        // What tests, the tool and the demonstration add.
        .target(
            name: "IdentityTesting",
            dependencies: [
                "IdentityClient", "OAuthWire", "LoopbackHTTP", "SystemSupport", crypto, cryptoExtras, httpTypes,
            ]
        ),
        // Checks a token cache, also from many processes.
        .target(
            name: "IdentityCacheTesting",
            dependencies: ["IdentityTesting", "IdentityClient", "LoopbackHTTP", "SystemSupport", httpTypes]
        ),
        .executableTarget(
            name: "identityctl",
            dependencies: [
                "IdentityClient", "IdentityCapture", "IdentityResources", "IdentityKeyring", "IdentityMSALCaches",
                "IdentityMSALKeyring",
                "IdentityBroker", "TokenForwarding", "OAuthWire", "LoopbackHTTP", "SystemSupport", "GLibSupport",
                argumentParser, httpTypes, logging,
            ]
        ),
        // What Scripts/demo runs, beside identityctl. It is no product.
        .executableTarget(name: "identity-demo", dependencies: ["IdentityClient", "IdentityTesting", argumentParser]),

        // What the test targets share. It is no product.
        .target(
            name: "IdentityTestSupport",
            dependencies: [
                "IdentityClient", "IdentityResources", "IdentityTesting", "LoopbackHTTP", "SystemSupport", "OAuthWire",
                crypto,
                cryptoExtras,
                httpTypes,
            ],
            path: "Tests/Support/TestSupport"
        ),
        .testTarget(name: "OAuthWireTests", dependencies: ["OAuthWire", crypto, cryptoExtras]),
        .testTarget(name: "LoopbackHTTPTests", dependencies: ["LoopbackHTTP", "SystemSupport", "IdentityTestSupport"]),
        .testTarget(
            name: "TokenForwardingTests",
            dependencies: ["TokenForwarding", "LoopbackHTTP", "SystemSupport", "CCurl", "IdentityTestSupport"]
        ),
        .testTarget(
            name: "IdentityClientTests",
            dependencies: [
                "IdentityClient", "IdentityCapture", "IdentityKeyring", "IdentityMSALCaches", "IdentityResources",
                "IdentityTelemetry", "IdentityCacheTesting", "IdentityTesting",
                "IdentityTestSupport", "OAuthWire", "LoopbackHTTP", "SystemSupport", crypto, httpTypes, logging,
            ]
        ),
        .testTarget(
            name: "IdentityResourcesTests",
            dependencies: [
                "IdentityResources", "IdentityClient", "IdentityTesting", "IdentityTestSupport", "OAuthWire",
                "LoopbackHTTP", httpTypes,
            ]
        ),
        .testTarget(
            name: "IdentityTestingTests",
            dependencies: [
                "IdentityCacheTesting", "IdentityTesting", "IdentityClient", "IdentityTestSupport", "OAuthWire",
                "LoopbackHTTP", httpTypes,
            ]
        ),
        .testTarget(
            name: "IdentityctlTests",
            dependencies: [
                "identityctl", "identity-demo", "IdentityClient", "IdentityResources", "IdentityKeyring",
                "IdentityMSALKeyring",
                "IdentityTesting", "IdentityTestSupport", "TokenForwarding", "OAuthWire", "LoopbackHTTP",
                "SystemSupport",
                argumentParser, logging,
            ]
        ),
        .testTarget(
            name: "IdentityKeyringTests",
            dependencies: [
                "IdentityKeyring", "IdentityMSALCaches", "IdentityMSALKeyring", "IdentityClient",
                "IdentityCacheTesting", "IdentityTesting", "IdentityTestSupport",
                "GLibSupport", "SystemSupport", logging,
            ]
        ),
        .testTarget(name: "IdentityGLibTests", dependencies: ["IdentityGLib"]),
        .testTarget(
            name: "IdentityBrokerTests",
            dependencies: ["IdentityBroker", "IdentityClient", "GLibSupport", "SystemSupport", "OAuthWire"]
        ),
        .testTarget(
            name: "IdentityPostgreSQLTests",
            dependencies: [
                "IdentityPostgreSQL", "IdentityClient", "IdentityCacheTesting", "IdentityTesting",
                "IdentityTestSupport",
                "LoopbackHTTP", "SystemSupport", "refresh-worker",
            ]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "IdentityClient", "IdentityCacheTesting", "IdentityTesting", "IdentityTestSupport", "refresh-worker",
                httpTypes,
            ]
        ),
        .testTarget(
            name: "MultiProcessTests",
            dependencies: [
                "IdentityClient", "IdentityKeyring", "IdentityMSALCaches", "IdentityMSALKeyring", "IdentityPostgreSQL",
                "IdentityCacheTesting", "IdentityTesting",
                "IdentityTestSupport", "OAuthWire", "SystemSupport", "refresh-worker",
            ]
        ),
        // What is fuzzed, with the inputs that were kept; Scripts/fuzz makes a libFuzzer program of it.
        .testTarget(
            name: "FuzzingTests",
            dependencies: [
                "IdentityClient", "IdentityMSALCaches", "OAuthWire", "LoopbackHTTP", "TokenForwarding", httpTypes,
                logging,
            ],
            exclude: ["Corpus", "LibFuzzer.swift"]
        ),
        // What those tests start many of. It is no product.
        .executableTarget(
            name: "refresh-worker",
            dependencies: [
                "IdentityClient", "IdentityKeyring", "IdentityMSALCaches", "IdentityMSALKeyring", "IdentityPostgreSQL",
                "IdentityCacheTesting", "IdentityTesting",
            ],
            path: "Tests/Support/RefreshWorker"
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets
where !["CCurl", "CSystemSupport", "CGIO", "CLibSecret", "CPostgreSQL", "CWebKitGTK"].contains(target.name) {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]
    // Nearly every line of the web view calls C: `unsafe` on all of them would mark none.
    if target.name != "IdentityWebView" { target.swiftSettings?.append(.strictMemorySafety()) }
    // Only where it is asked for, as the scripts do: a warning of a later compiler stops nobody who depends on this.
    if isSet("IDENTITY_STRICT") { target.swiftSettings?.append(.treatAllWarnings(as: .error)) }
}

// The same folder as a libFuzzer program instead of a test target (Scripts/fuzz).
if isSet("IDENTITY_FUZZ") {
    package.targets.removeAll { $0.isTest }
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "IdentityClient", "IdentityMSALCaches", "OAuthWire", "LoopbackHTTP", "TokenForwarding", httpTypes,
                logging,
            ],
            path: "Tests/FuzzingTests",
            exclude: ["Corpus", "CorpusTests.swift"],
            swiftSettings: [.enableExperimentalFeature("Extern")]
        )
    )
}

// The target that the traits Metrics and Tracing change, and its tests, alone (Scripts/test-telemetry).
if isSet("IDENTITY_TELEMETRY") {
    package.products = []
    package.dependencies = telemetryPackages
    package.targets.removeAll { $0.name != "IdentityTelemetry" }
    package.targets.append(
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "IdentityTelemetry",
                .product(name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
                .product(
                    name: "InMemoryTracing",
                    package: "swift-distributed-tracing",
                    condition: .when(traits: ["Tracing"])
                ),
            ]
        )
    )
}

// Races made on purpose, of which Scripts/thread-sanitizer wants reports.
if isSet("IDENTITY_THREAD_SANITIZER") {
    let folder = "Tests/Support/ThreadSanitizer"
    package.targets += [
        .target(name: "CRace", path: "\(folder)/CRace"),
        .testTarget(name: "ThreadSanitizerTests", dependencies: ["CRace"], path: "\(folder)/Tests"),
    ]
}
