// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Not compiled: `.package(url: "https://git.example/swift-identity-client", from: "0.9.0", traits: ["Metrics", "Tracing"]),`: a line of a manifest.
