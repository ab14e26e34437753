// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Not compiled: `// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0`: the head of each file.
