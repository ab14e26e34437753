// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// D-Bus calls and signals by GLib and GIO, which are loaded with dlopen: no GLib header is read, nothing is linked.
//
// Call the functions below cgio_thread_do only on a thread that cgio_thread_start has started, unless their comment gives
// another rule.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether a library can be used.
typedef enum {
    CGIO_READY = 0,
    /// The loader did not find it, or could not load it.
    CGIO_UNLOADABLE,
    /// The library was found, but lacks a function.
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
    CGIO_ERROR_NOT_FOUND = 1,
    CGIO_ERROR_INVALID_ARGUMENT = 13,
    CGIO_ERROR_PERMISSION_DENIED = 14,
    CGIO_ERROR_CLOSED = 18,
    CGIO_ERROR_TIMED_OUT = 24,
    CGIO_ERROR_DBUS_ERROR = 36,
    CGIO_ERROR_CONNECTION_REFUSED = 39,
    CGIO_ERROR_BROKEN_PIPE = 44,
};

/// The reason for the failure of a call. Valid until the function that receives it returns.
typedef struct {
    /// The GError's domain.
    const char *domain;
    int code;
    /// The error's name in D-Bus, or NULL if it did not come from D-Bus.
    const char *name;
    const char *message;
} cgio_failure;

/// Called once, with a value or a failure. The function that takes the completion tells who owns the value.
typedef void (*cgio_completion)(void *data, void *value, const cgio_failure *failure);
typedef void (*cgio_work)(void *data);

typedef struct cgio_thread cgio_thread;
/// `reason` is the loader's message if the library is unloadable, or NULL. Valid until the function returns.
typedef void (*cgio_started)(void *data, cgio_thread *thread, cgio_readiness readiness, const char *reason);

/// Starts a thread that loads GIO and then runs a main context of its own for good. Calls `started` on that thread. If GIO
/// cannot be used, `started` receives NULL, and the thread ends.
/// Returns 0, or the system's error number; then `started` is not called.
int cgio_thread_start(const char *library, cgio_started started, void *data);
/// Runs `work` on the thread. May be called on any thread.
void cgio_thread_do(cgio_thread *thread, cgio_work work, void *data);

/// Connects to the bus at `address`. The value is a connection, which the receiver owns. A lost connection never ends the
/// program.
void cgio_connect(const char *address, cgio_completion completion, void *data);
/// Calls `closed` when either side ends the connection. Returns the number for cgio_connection_forget_closed.
unsigned long cgio_connection_when_closed(void *connection, cgio_work closed, void *data, cgio_work release);
void cgio_connection_forget_closed(void *connection, unsigned long number);
/// Closes and releases the connection, even if the bus reads no more. Calls no `closed` function.
void cgio_connection_end(void *connection);

/// Calls a method. The value is the reply, a GVariant of type `reply`, which the receiver owns.
/// - arguments: a tuple as the text of a GVariant
/// - secret: the GVariant that replaces `%@(oayays)` in `arguments`, or NULL; with a secret, GLib ends the program if
///   `arguments` is malformed
/// - descriptor: the file descriptor that `handle 0` means in `arguments`, or -1
/// - starts: whether the bus may start the destination
/// GLib sets no time limit: INT_MAX.
void cgio_call(void *connection, const char *destination, const char *path, const char *interface, const char *method,
               const char *arguments, void *secret, int descriptor, const char *reply, bool starts,
               cgio_completion completion, void *data);

/// Receives a signal. The caller owns the parameters.
typedef void (*cgio_signal)(void *data, const char *path, const char *interface, const char *member, void *parameters);

/// Calls `received` for the signals of a sender. NULL for the interface, member, path or first argument means any.
uint32_t cgio_subscribe(void *connection, const char *sender, const char *interface, const char *member,
                        const char *path, const char *first, cgio_signal received, void *data, cgio_work release);
void cgio_unsubscribe(void *connection, uint32_t subscription);

// Variants are constant: these functions may be called on any thread. The value must have the type that the function
// reads; check it with cgio_variant_has_type.
void cgio_variant_ref(void *variant);
void cgio_variant_free(void *variant);
bool cgio_variant_has_type(void *variant, const char *type);
/// Returns the number of a container's parts, or 0 for any other type.
size_t cgio_variant_count(void *variant);
/// Returns a part, which the caller owns.
void *cgio_variant_child(void *variant, size_t index);
/// Returns the value inside a value of type `v`. The caller owns it.
void *cgio_variant_content(void *variant);
const char *cgio_variant_string(void *variant);
bool cgio_variant_bool(void *variant);
uint32_t cgio_variant_uint32(void *variant);
int32_t cgio_variant_int32(void *variant);
uint64_t cgio_variant_uint64(void *variant);
const uint8_t *cgio_variant_bytes(void *variant, size_t *count);
bool cgio_is_object_path(const char *text);

/// Creates an unnamed file in memory. Returns its descriptor, or -1. May be called on any thread.
int cgio_memory_file(void);
