// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// Tells ThreadSanitizer about synchronization in libraries that are not instrumented. Linked only into the programs that
// Scripts/thread-sanitizer runs.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void __tsan_acquire(void *);
void __tsan_release(void *);

// The linker replaces calls of `name` by `__wrap_name`, and calls of `__real_name` by `name`.
void *__real_dlsym(void *library, const char *name);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// MARK: Mutex

// An uncontended `Mutex` is locked and unlocked by atomic operations in the caller's own code, which is instrumented.
// Contention is handled by the library, which is not. These functions come before the library's of the same name, call
// them, and report the synchronization.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock(uint32_t thread, SELF void *mutex) __asm__(LOCK);
SWIFT bool try_lock(SELF void *mutex) __asm__(TRY_LOCK);
SWIFT void unlock(SELF void *mutex) __asm__(UNLOCK);

SWIFT void lock(uint32_t thread, SELF void *mutex) {
    SWIFT void (*library)(uint32_t, SELF void *) = __real_dlsym(RTLD_NEXT, LOCK);
    library(thread, mutex);
    __tsan_acquire(mutex);
}

SWIFT bool try_lock(SELF void *mutex) {
    SWIFT bool (*library)(SELF void *) = __real_dlsym(RTLD_NEXT, TRY_LOCK);
    bool is_locked = library(mutex);
    if (is_locked) __tsan_acquire(mutex);
    return is_locked;
}

SWIFT void unlock(SELF void *mutex) {
    SWIFT void (*library)(SELF void *) = __real_dlsym(RTLD_NEXT, UNLOCK);
    __tsan_release(mutex);
    library(mutex);
}

// MARK: Continuations

SWIFT void *swift_task_getCurrent(void);

/// Records that everything before the resumption of the running task has happened.
void acquire_what_resumed_this_task(void) {
    __tsan_acquire(swift_task_getCurrent());
}

// MARK: Copies

// Memory that the compiler copies or clears in one piece, in C structs as well as Swift values. This toolchain's
// ThreadSanitizer does not check the accesses of its replacements for C functions, including these.
void __tsan_read_range_pc(const void *, size_t, void *);
void __tsan_write_range_pc(void *, size_t, void *);

void *__wrap___tsan_memcpy(void *target, const void *source, size_t size) {
    __tsan_read_range_pc(source, size, __builtin_return_address(0));
    __tsan_write_range_pc(target, size, __builtin_return_address(0));
    return memcpy(target, source, size);
}

void *__wrap___tsan_memmove(void *target, const void *source, size_t size) {
    __tsan_read_range_pc(source, size, __builtin_return_address(0));
    __tsan_write_range_pc(target, size, __builtin_return_address(0));
    return memmove(target, source, size);
}

void *__wrap___tsan_memset(void *target, int byte, size_t size) {
    __tsan_write_range_pc(target, size, __builtin_return_address(0));
    return memset(target, byte, size);
}

// MARK: GLib

// A source that is attached to a main context runs after that, because GLib's lock of the context orders the two. The
// package looks up GLib's functions by name, and gets this one instead of `g_source_set_callback`.
struct callback {
    int (*function)(void *);
    void *data;
    void (*destroy)(void *);
};

static int run(void *data) {
    struct callback *callback = data;
    __tsan_acquire(callback);
    return callback->function(callback->data);
}

static void destroy(void *data) {
    struct callback *callback = data;
    if (callback->destroy) callback->destroy(callback->data);
    free(callback);
}

static void (*set_callback)(void *, int (*)(void *), void *, void (*)(void *));

static void set_traced_callback(void *source, int (*function)(void *), void *data, void (*destroy_data)(void *)) {
    struct callback *callback = malloc(sizeof *callback);
    if (!callback) abort();
    *callback = (struct callback){function, data, destroy_data};
    __tsan_release(callback);
    set_callback(source, run, callback, destroy);
}

void *__wrap_dlsym(void *library, const char *name) {
    void *symbol = __real_dlsym(library, name);
    // ThreadSanitizer calls this while it starts, when functions that it replaces must not be called yet.
    if (library == RTLD_NEXT || library == RTLD_DEFAULT) return symbol;
    if (!symbol || strcmp(name, "g_source_set_callback") != 0) return symbol;
    *(void **)&set_callback = symbol; // there is one GLib, and its caller holds a lock
    return set_traced_callback;
}
