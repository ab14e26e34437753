// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
// The names are those of the document.
// swift-format-ignore-file

// Outside: `import IdentityClient`: the tests name its type.
import Foundation
import IdentityTesting
import Testing

let path = ""
func MyDatabaseCache(path: String) throws -> FileTokenCache { FileTokenCache(directory: path) }
