// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// Tells ThreadSanitizer what it cannot see in Swift's libraries. Linked into what Scripts/thread-sanitizer runs, and
// nowhere else.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

void __tsan_acquire(void *);
void __tsan_release(void *);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// MARK: Mutex

// A `Mutex` that nobody else wants is taken and given back by atomic operations in the caller's own code, which are
// instrumented. When threads meet there, the library does it, which is not. Here its functions are what they were, and
// say so: these names come before the library's, and call it.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT bool try_lock(SELF void *mutex) __asm__(TRY_LOCK);
SWIFT void unlock(SELF void *mutex) __asm__(UNLOCK);

SWIFT void lock(uint32_t thread, SELF void *mutex) {
    SWIFT void (*library)(uint32_t, SELF void *) = dlsym(RTLD_NEXT, LOCK);
    library(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT bool try_lock(SELF void *mutex) {
    SWIFT bool (*library)(SELF void *) = dlsym(RTLD_NEXT, TRY_LOCK);
    bool is_locked = library(mutex);
    if (is_locked) __tsan_acquire(mutex);
    return is_locked;
}

SWIFT void unlock(SELF void *mutex) {
    SWIFT void (*library)(SELF void *) = dlsym(RTLD_NEXT, UNLOCK);
    __tsan_release(mutex);
    library(mutex);
}

// MARK: Continuations

SWIFT void *swift_task_getCurrent(void);

/// What was done before the running task was resumed is done.
void acquire_what_resumed_this_task(void) {
    __tsan_acquire(swift_task_getCurrent());
}
