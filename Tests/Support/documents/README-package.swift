// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Not compiled: `// swift-tools-version: 6.3`: a manifest.
