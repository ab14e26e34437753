// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityKeyring

var key: EncryptionKey { fatalError() }
var keyring: any EncryptionKeyProvider { fatalError() }
