// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Not compiled: `.package(url: "https://git.example/swift-identity-client", branch: "main", traits: ["WebView"])`: a line of a manifest.
// Not compiled: `.product(name: "IdentityClient", package: "swift-identity-client"),`: lines of a manifest.
// Not compiled: `import IdentityClient`: needs the trait WebView; it is the sample program's, which Scripts/test-webview builds.
