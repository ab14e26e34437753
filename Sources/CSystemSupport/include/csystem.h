// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// System calls that Swift's module of the C library leaves out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Whether the process has rights that its caller lacks: setuid, setgid, or capabilities of its file. See getauxval(3),
/// `AT_SECURE`.
bool csystem_has_raised_rights(void);

/// Keeps other processes of the user from reading the memory of this process, and the system from writing it to a file
/// after a crash. Returns whether that worked. See prctl(2), `PR_SET_DUMPABLE`.
bool csystem_hide_memory(void);

/// A descriptor of a process, readable once the process has ended and closed on exec, or -1 with errno: pidfd_open(2),
/// which the C library has since 2.36 only.
int csystem_process_descriptor(int process);

/// The kind of the file system of an open file, or 0: `f_type` of fstatfs(2).
uint32_t csystem_file_system_kind(int descriptor);

/// Makes a pipe that is closed on exec from its first moment, also where another thread starts a program meanwhile: pipe2(2).
/// Returns whether that worked.
bool csystem_pipe(int ends[2]);
