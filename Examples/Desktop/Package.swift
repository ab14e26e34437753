// swift-tools-version: 6.3
// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A user's package for the desktop: Swift 6 mode, GTK 4.8 and libadwaita 1.2.
let identityClient = Target.Dependency.product(name: "IdentityClient", package: "swift-identity-client")
let identityBroker = Target.Dependency.product(name: "IdentityBroker", package: "swift-identity-client")
let identityResources = Target.Dependency.product(name: "IdentityResources", package: "swift-identity-client")
let identityGLib = Target.Dependency.product(name: "IdentityGLib", package: "swift-identity-client")
let identityKeyring = Target.Dependency.product(name: "IdentityKeyring", package: "swift-identity-client")
let identityTesting = Target.Dependency.product(name: "IdentityTesting", package: "swift-identity-client")
let identityWebView = Target.Dependency.product(name: "IdentityWebView", package: "swift-identity-client")
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let flyingFox = Target.Dependency.product(name: "FlyingFox", package: "FlyingFox")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
    name: "identity-desktop-examples",
    dependencies: [
        .package(name: "swift-identity-client", path: "../..", traits: ["WebView"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    ],
    targets: [
        // GTK and libadwaita, and their C code that Swift cannot call directly.
        .systemLibrary(
            name: "CAdwaita",
            pkgConfig: "libadwaita-1",
            providers: [.apt(["libadwaita-1-dev"])]
        ),

        // The thin GTK layer that the programs share.
        .target(
            name: "DesktopKit",
            dependencies: [
                "CAdwaita", "StandIn", identityBroker, identityClient, identityGLib, identityKeyring, identityWebView,
                argumentParser, httpTypes,
            ]
        ),
        .testTarget(
            name: "DesktopKitTests",
            dependencies: [
                "DesktopKit", "TestSupport", identityBroker, identityClient, identityKeyring, argumentParser, httpTypes,
            ]
        ),

        // The GTK thread for tests.
        .target(
            name: "TestSupport",
            dependencies: ["CAdwaita", "DesktopKit"],
            path: "Tests/TestSupport"
        ),

        // The simulated cloud on this machine, for trying the programs out and for their tests.
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
            dependencies: [
                "StandIn", flyingFox, identityClient, identityResources, identityTesting, httpTypes,
            ]
        ),

        // Signs in, calls Microsoft Graph, signs out.
        .executableTarget(
            name: "QuickStart",
            dependencies: ["DesktopKit", identityClient, identityResources, identityKeyring, argumentParser]
        ),
        .testTarget(
            name: "QuickStartTests",
            dependencies: ["QuickStart", "DesktopKit", "StandIn", "TestSupport", identityClient, identityTesting]
        ),

        // Searches the people of an organization.
        .executableTarget(
            name: "GraphSearch",
            dependencies: ["DesktopKit", identityClient, identityResources, argumentParser]
        ),
        .testTarget(
            name: "GraphSearchTests",
            dependencies: ["GraphSearch", "DesktopKit", "TestSupport", identityClient, identityTesting, argumentParser]
        ),

        // A to-do list on Azure AD B2C: the model, and below it the window.
        .target(
            name: "TodoListModel",
            dependencies: ["StandIn", identityClient, identityResources, httpTypes]
        ),
        .testTarget(
            name: "TodoListModelTests",
            dependencies: ["TodoListModel", "DesktopKit", "StandIn", identityClient, identityTesting, httpTypes]
        ),
        .executableTarget(
            name: "TodoList",
            dependencies: ["TodoListModel", "DesktopKit", "StandIn", identityClient, argumentParser]
        ),
        .testTarget(
            name: "TodoListTests",
            dependencies: ["TodoList", "TodoListModel", identityClient, argumentParser]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// Warnings are errors if the environment asks for it, as Scripts/test-desktop does.
if Context.environment["IDENTITY_STRICT"] != nil {
    for target in package.targets where target.type != .system {
        target.swiftSettings = [
            .treatAllWarnings(as: .error),
            // Later versions of libadwaita deprecate functions that Debian 12 needs.
            .treatWarning("DeprecatedDeclaration", as: .warning),
        ]
    }
}
