// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

var mail: PublicClientApplication { app }
var notes: PublicClientApplication { app }

func add(_ account: Account) {}
func replace(_ old: Account?, by new: Account) {}
func tryAgain(with account: Account) {}
func take(away account: Account) {}
