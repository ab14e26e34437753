// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The part of GLib and GIO that talks over D-Bus, loaded with dlopen: no GLib header is read, nothing is linked.
//
// Everything below the threads is to be called on a thread that cgio_thread_start has started, except where another
// rule is given.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether a library can be used.
typedef enum {
    CGIO_READY = 0,
    /// The loader did not find it, or could not load it.
    CGIO_UNLOADABLE,
    /// It was found, but lacks a function.
    CGIO_UNSUITABLE,
    /// Out of memory or threads.
    CGIO_EXHAUSTED,
} cgio_readiness;

/// Numbers of the domain g-dbus-error-quark.
enum {
    CGIO_DBUS_ERROR_SERVICE_UNKNOWN = 2,
    CGIO_DBUS_ERROR_NAME_HAS_NO_OWNER = 3,
    CGIO_DBUS_ERROR_NO_REPLY = 4,
    CGIO_DBUS_ERROR_ACCESS_DENIED = 9,
    CGIO_DBUS_ERROR_UNKNOWN_METHOD = 19,
    CGIO_DBUS_ERROR_UNKNOWN_OBJECT = 41,
};

/// Numbers of the domain g-io-error-quark.
enum {
    CGIO_ERROR_PERMISSION_DENIED = 14,
    CGIO_ERROR_CLOSED = 18,
    CGIO_ERROR_TIMED_OUT = 24,
    CGIO_ERROR_DBUS_ERROR = 36,
    CGIO_ERROR_BROKEN_PIPE = 44,
};

/// Why a call failed; valid for as long as the function that is given it runs.
typedef struct {
    /// The GError's domain.
    const char *domain;
    int code;
    /// What D-Bus calls the error, or NULL when it did not come from there.
    const char *name;
    const char *message;
} cgio_failure;

/// Is called once, with a value or a failure. Who owns the value is said where it comes from.
typedef void (*cgio_completion)(void *data, void *value, const cgio_failure *failure);
typedef void (*cgio_work)(void *data);

typedef struct cgio_thread cgio_thread;
/// `reason` is what the loader said where the library is unloadable, or NULL; valid for as long as the function runs.
typedef void (*cgio_started)(void *data, cgio_thread *thread, cgio_readiness readiness, const char *reason);

/// Starts a thread that loads GIO and then does the work of a main context of its own. It never ends.
/// `started` is called on that thread; when GIO is not ready, with NULL, and the thread ends.
/// Returns 0, or the system's error number; then `started` is not called.
int cgio_thread_start(const char *library, cgio_started started, void *data);
/// Has `work` done on the thread. From any thread.
void cgio_thread_do(cgio_thread *thread, cgio_work work, void *data);

/// Connects to the bus at `address`. The value is a connection, owned by the receiver.
/// A connection that is lost never ends the program.
void cgio_connect(const char *address, cgio_completion completion, void *data);
/// Has `closed` called when the connection ends, from whichever side. Returns what to give up waiting with.
unsigned long cgio_connection_when_closed(void *connection, cgio_work closed, void *data, cgio_work release);
void cgio_connection_forget_closed(void *connection, unsigned long number);
/// Closes the connection, also where the bus takes nothing, and lets go of it. Its end is told to no receiver any more.
void cgio_connection_end(void *connection);

/// Calls a method. `arguments` is the text of a GVariant; a tuple. The value is the reply, a GVariant of type `reply`,
/// owned by the receiver. `secret`, unless NULL, is a GVariant that stands in `arguments` where it says `%@(oayays)`; GLib
/// ends the program if that text is none then. `descriptor`, unless -1, is what `handle 0` stands for in it. Whether the bus may start the destination for it says `starts`.
void cgio_call(void *connection, const char *destination, const char *path, const char *interface, const char *method,
               const char *arguments, void *secret, int descriptor, const char *reply, bool starts, int milliseconds,
               cgio_completion completion, void *data);

/// The parameters belong to the caller.
typedef void (*cgio_signal)(void *data, const char *path, const char *interface, const char *member, void *parameters);

/// Has `received` called for the signals of a sender; NULL for the interface, member, path or first
/// argument means any.
uint32_t cgio_subscribe(void *connection, const char *sender, const char *interface, const char *member,
                        const char *path, const char *first, cgio_signal received, void *data, cgio_work release);
void cgio_unsubscribe(void *connection, uint32_t subscription);

// Variants are constant; these may be called on any thread. A value of another type than is asked for must not be
// passed: replies have the type that was asked for, signals are checked with cgio_variant_has_type.
void cgio_variant_ref(void *variant);
void cgio_variant_free(void *variant);
bool cgio_variant_has_type(void *variant, const char *type);
/// How many parts a container has; 0 for anything else.
size_t cgio_variant_count(void *variant);
/// Owned by the receiver.
void *cgio_variant_child(void *variant, size_t index);
/// What is in a variant in a variant; owned by the receiver.
void *cgio_variant_content(void *variant);
const char *cgio_variant_string(void *variant);
bool cgio_variant_bool(void *variant);
uint32_t cgio_variant_uint32(void *variant);
uint64_t cgio_variant_uint64(void *variant);
const uint8_t *cgio_variant_bytes(void *variant, size_t *count);
bool cgio_is_object_path(const char *text);

/// A file in memory, without a name, or -1. From any thread.
int cgio_memory_file(void);
