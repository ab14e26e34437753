// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The tests of the library's product IdentityWebView, and a program that tries it. Programs depend on the product.
let identityWebView = Target.Dependency.product(name: "IdentityWebView", package: "swift-identity-client")
let identityClient = Target.Dependency.product(name: "IdentityClient", package: "swift-identity-client")
let identityGLib = Target.Dependency.product(name: "IdentityGLib", package: "swift-identity-client")
let identityTesting = Target.Dependency.product(name: "IdentityTesting", package: "swift-identity-client")

let package = Package(
    name: "identity-web-view",
    dependencies: [
        .package(name: "swift-identity-client", path: "..", traits: ["WebView"])
    ],
    targets: [
        // Tries it: a window, a button, and a provider of its own on the loopback interface.
        .executableTarget(
            name: "web-view-sign-in",
            dependencies: [identityWebView, identityClient, identityGLib, identityTesting]
        ),
        .testTarget(
            name: "IdentityWebViewTests",
            dependencies: [identityWebView, identityClient, identityTesting]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// As the product itself.
for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
    ]
    // Only on request, as in the scripts, so that a warning of a later compiler stops no dependent package.
    if Context.environment["IDENTITY_STRICT"] != nil { target.swiftSettings?.append(.treatAllWarnings(as: .error)) }
}
