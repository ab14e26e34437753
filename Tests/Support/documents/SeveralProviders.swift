// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

var work: ClientConfiguration { configuration }
var shop: ClientConfiguration { configuration }
var account: StoredAccount { fatalError() }

func reload(_ old: StoredAccount?, _ new: StoredAccount?) {}
func refresh(_ account: StoredAccount?) {}
func show(_ error: any Error, for account: StoredAccount?) {}
