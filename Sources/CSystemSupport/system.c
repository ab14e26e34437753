// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE // pipe2

#include "csystem.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

bool csystem_has_raised_rights(void) { return getauxval(AT_SECURE) != 0; }

bool csystem_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0; }

int csystem_process_descriptor(int process) {
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
    return (int)syscall(SYS_pidfd_open, process, 0);
}

uint32_t csystem_file_system_kind(int descriptor) {
    struct statfs status;
    return fstatfs(descriptor, &status) == 0 ? (uint32_t)status.f_type : 0;
}

bool csystem_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0; }
