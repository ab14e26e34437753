// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

var response: HTTPResponse { fatalError() }
func tryAgain(after pause: Duration) {}
