// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#pragma once

/// Two threads write the same variable without synchronization. Returns its final value.
int crace_count(void);

/// The same with a struct that each thread copies as a whole. Returns its first member.
int crace_copy(void);
