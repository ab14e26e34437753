// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityKeyring
import IdentityResources

var me: URL { url }
let isShared = false
