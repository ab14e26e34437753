// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The used functions of GLib, GObject and GIO, with their types in the ABI. For C only. The declarations are written by hand;
// Scripts/check-headers compares them with the libraries' own headers.
#pragma once

#include "cgio.h"

/// A note in the program's file that names a library which is loaded on first use. Packaging tools read it.
/// https://systemd.io/ELF_DLOPEN_METADATA/
#define CGIO_DLOPEN_NOTE(name, library, purpose) \
    CGIO_NOTE(name, "[{\"feature\":\"keyring\",\"description\":\"" purpose \
                    "\",\"priority\":\"recommended\",\"soname\":[\"" library "\"]}]")
#define CGIO_NOTE(name, text) \
    static const struct { \
        uint32_t owner_size, text_size, type; \
        char owner[4]; \
        char content[(sizeof text + 3) & ~(size_t)3]; \
    } name##_note __attribute__((used, section(".note.dlopen"), aligned(4))) = { \
        4, sizeof text, 0x407c0c0a, "FDO", text}

typedef size_t glib_type;
typedef void (*glib_ready)(void *source, void *result, void *data);

/// struct GError
struct glib_error {
    uint32_t domain;
    int code;
    char *message;
};

/// struct GTypeQuery
struct glib_type_query {
    glib_type type;
    const char *name;
    unsigned class_size;
    unsigned instance_size;
};

/// The head of GObjectClass.
struct glib_object_class {
    glib_type type;
    void *construct_properties;
    void *(*constructor)(glib_type type, unsigned count, void *properties);
};

enum {
    GLIB_PRIORITY_DEFAULT = 0,
    GLIB_SIGNAL_MATCH_FUNC = 1 << 3,
    GIO_CONNECTION_CLIENT = 1 << 0,
    GIO_CONNECTION_MESSAGE_BUS = 1 << 3,
    GIO_CALL_NO_AUTO_START = 1 << 0,
    GIO_PROXY_NO_PROPERTIES = 1 << 0,
    GIO_PROXY_NO_SIGNALS = 1 << 1,
    GIO_PROXY_NO_AUTO_START = 1 << 2,
};

// X(field, symbol, result, parameters)
#define CGIO_FUNCTIONS(X) \
    X(context_new, g_main_context_new, void *, (void)) \
    X(context_push, g_main_context_push_thread_default, void, (void *)) \
    X(context_iterate, g_main_context_iteration, int, (void *, int)) \
    X(idle_new, g_idle_source_new, void *, (void)) \
    X(source_priority, g_source_set_priority, void, (void *, int)) \
    X(source_callback, g_source_set_callback, void, (void *, int (*)(void *), void *, void (*)(void *))) \
    X(source_attach, g_source_attach, unsigned, (void *, void *)) \
    X(source_unref, g_source_unref, void, (void *)) \
    X(free, g_free, void, (void *)) \
    X(quark_name, g_quark_to_string, const char *, (uint32_t)) \
    X(error_free, g_error_free, void, (struct glib_error *)) \
    X(variant_parse, g_variant_parse, void *, \
      (const char *, const char *, const char *, const char **, struct glib_error **)) \
    X(variant_parsed, g_variant_new_parsed, void *, (const char *, ...)) \
    X(variant_sink, g_variant_ref_sink, void *, (void *)) \
    X(variant_ref, g_variant_ref, void *, (void *)) \
    X(variant_take, g_variant_take_ref, void *, (void *)) \
    X(variant_unref, g_variant_unref, void, (void *)) \
    X(variant_has_parts, g_variant_is_container, int, (void *)) \
    X(variant_count, g_variant_n_children, size_t, (void *)) \
    X(variant_child, g_variant_get_child_value, void *, (void *, size_t)) \
    X(variant_content, g_variant_get_variant, void *, (void *)) \
    X(variant_text, g_variant_get_string, const char *, (void *, size_t *)) \
    X(variant_bool, g_variant_get_boolean, int, (void *)) \
    X(variant_uint32, g_variant_get_uint32, uint32_t, (void *)) \
    X(variant_int32, g_variant_get_int32, int32_t, (void *)) \
    X(variant_uint64, g_variant_get_uint64, uint64_t, (void *)) \
    X(variant_array, g_variant_get_fixed_array, const void *, (void *, size_t *, size_t)) \
    X(variant_type, g_variant_get_type_string, const char *, (void *)) \
    X(is_object_path, g_variant_is_object_path, int, (const char *)) \
    X(object_unref, g_object_unref, void, (void *)) \
    X(type_query, g_type_query, void, (glib_type, struct glib_type_query *)) \
    X(type_register, g_type_register_static_simple, glib_type, \
      (glib_type, const char *, unsigned, void (*)(void *, void *), unsigned, void (*)(void *, void *), int)) \
    X(signal_connect, g_signal_connect_data, unsigned long, \
      (void *, const char *, void (*)(void), void *, void (*)(void *, void *), int)) \
    X(signal_disconnect, g_signal_handler_disconnect, void, (void *, unsigned long)) \
    X(signals_disconnect, g_signal_handlers_disconnect_matched, unsigned, \
      (void *, int, unsigned, uint32_t, void *, void *, void *)) \
    X(connection_new, g_dbus_connection_new_for_address, void, \
      (const char *, int, void *, void *, glib_ready, void *)) \
    X(connection_new_finish, g_dbus_connection_new_for_address_finish, void *, (void *, struct glib_error **)) \
    X(connection_exit_on_close, g_dbus_connection_set_exit_on_close, void, (void *, int)) \
    X(connection_close, g_dbus_connection_close, void, (void *, void *, glib_ready, void *)) \
    X(connection_call, g_dbus_connection_call_with_unix_fd_list, void, \
      (void *, const char *, const char *, const char *, const char *, void *, const char *, int, int, void *, void *, \
       glib_ready, void *)) \
    X(connection_call_finish, g_dbus_connection_call_with_unix_fd_list_finish, void *, \
      (void *, void **, void *, struct glib_error **)) \
    X(descriptors_new, g_unix_fd_list_new, void *, (void)) \
    X(descriptors_append, g_unix_fd_list_append, int, (void *, int, struct glib_error **)) \
    X(subscribe, g_dbus_connection_signal_subscribe, unsigned, \
      (void *, const char *, const char *, const char *, const char *, const char *, int, \
       void (*)(void *, const char *, const char *, const char *, const char *, void *, void *), void *, \
       void (*)(void *))) \
    X(unsubscribe, g_dbus_connection_signal_unsubscribe, void, (void *, unsigned)) \
    X(error_name, g_dbus_error_get_remote_error, char *, (const struct glib_error *)) \
    X(error_strip, g_dbus_error_strip_remote_error, int, (struct glib_error *)) \
    X(object_new, g_object_new, void *, (glib_type, const char *, ...)) \
    X(class_ref, g_type_class_ref, void *, (glib_type)) \
    X(initialize, g_async_initable_init_async, void, (void *, int, void *, glib_ready, void *)) \
    X(initialize_finish, g_async_initable_init_finish, int, (void *, void *, struct glib_error **))

struct cgio_library {
#define CGIO_FIELD(field, symbol, result, parameters) result(*field) parameters;
    CGIO_FUNCTIONS(CGIO_FIELD)
#undef CGIO_FIELD
};

/// The loaded functions. Filled before the first thread is ready, and constant from then on.
extern struct cgio_library cgio_library;

/// The receiver of a call's outcome.
struct cgio_pending {
    cgio_completion completion;
    void *data;
};

struct cgio_pending *cgio_pending_new(cgio_completion completion, void *data);
/// Reports success, and frees `pending`.
void cgio_pending_succeed(struct cgio_pending *pending, void *value);
/// Reports a failure, and frees `pending` and the error.
void cgio_pending_fail(struct cgio_pending *pending, struct glib_error *error);
