// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#pragma once

/// Two threads write the same variable, and nothing orders them. Returns what it ends at.
int crace_count(void);

/// The same with a struct that each copies as a whole. Returns its first member.
int crace_copy(void);
