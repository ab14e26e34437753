// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

func use(_ token: String) {}
func notify(_ text: String) {}
