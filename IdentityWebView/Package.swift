// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A package of its own, so that nobody else needs WebKitGTK's headers to build the library.
let identityClient = Target.Dependency.product(name: "IdentityClient", package: "swift-identity-client")
let identityTesting = Target.Dependency.product(name: "IdentityTesting", package: "swift-identity-client")

let package = Package(
    name: "identity-web-view",
    products: [
        .library(name: "IdentityWebView", targets: ["IdentityWebView"])
    ],
    dependencies: [
        .package(name: "swift-identity-client", path: "..")
    ],
    targets: [
        .systemLibrary(
            name: "CWebKitGTK",
            pkgConfig: "webkitgtk-6.0",
            providers: [.apt(["libwebkitgtk-6.0-dev"])]
        ),
        .target(name: "IdentityWebView", dependencies: ["CWebKitGTK", identityClient]),
        // Tries it: a window, a button, and a provider of its own on the loopback interface.
        .executableTarget(
            name: "web-view-sign-in",
            dependencies: ["IdentityWebView", "CWebKitGTK", identityClient, identityTesting]
        ),
        .testTarget(
            name: "IdentityWebViewTests",
            dependencies: ["IdentityWebView", "CWebKitGTK", identityClient, identityTesting]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// As the library, but for `strictMemorySafety()`: nearly every line here calls C, and `unsafe` on all would mark none.
for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]
    // Only where it is asked for, as the scripts do: a warning of a later compiler stops nobody who depends on this.
    if Context.environment["IDENTITY_STRICT"] != nil { target.swiftSettings?.append(.treatAllWarnings(as: .error)) }
}
