// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Compares the declarations that the C shims repeat from GLib, GIO and libsecret with the libraries' own headers at compile
// time, and facts that no header contains at run time: Scripts/check-headers.
#define SECRET_API_SUBJECT_TO_CHANGE
#define SECRET_WITH_UNSTABLE
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <gio/gunixfdlist.h>
#include <libsecret/secret.h>

#include "cgio_library.h"
#include "clibsecret_library.h"

#include "same.hpp"

CGIO_FUNCTIONS(CHECK)
CLIBSECRET_FUNCTIONS(CHECK)

CHECK_LAYOUT(glib_error, GError)
CHECK_FIELD(glib_error, domain, GError, domain)
CHECK_FIELD(glib_error, code, GError, code)
CHECK_FIELD(glib_error, message, GError, message)
CHECK_LAYOUT(glib_type_query, GTypeQuery)
CHECK_FIELD(glib_type_query, type, GTypeQuery, type)
CHECK_FIELD(glib_type_query, name, GTypeQuery, type_name)
CHECK_FIELD(glib_type_query, class_size, GTypeQuery, class_size)
CHECK_FIELD(glib_type_query, instance_size, GTypeQuery, instance_size)
CHECK_LAYOUT(glib_type, GType)
// The start of GObjectClass, up to the replaced function.
CHECK_FIELD(glib_object_class, type, GObjectClass, g_type_class)
CHECK_FIELD(glib_object_class, construct_properties, GObjectClass, construct_properties)
CHECK_FIELD(glib_object_class, constructor, GObjectClass, constructor)
static_assert(same_call<std::remove_pointer_t<decltype(glib_object_class::constructor)>,
                        std::remove_pointer_t<decltype(GObjectClass::constructor)>>::value,
              "a constructor is called in another way");

CHECK_NUMBER(GLIB_PRIORITY_DEFAULT, G_PRIORITY_DEFAULT)
CHECK_NUMBER(GLIB_SIGNAL_MATCH_FUNC, G_SIGNAL_MATCH_FUNC)
CHECK_NUMBER(GIO_CONNECTION_CLIENT, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT)
CHECK_NUMBER(GIO_CONNECTION_MESSAGE_BUS, G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION)
CHECK_NUMBER(GIO_CALL_NO_AUTO_START, G_DBUS_CALL_FLAGS_NO_AUTO_START)
CHECK_NUMBER(GIO_PROXY_NO_PROPERTIES, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES)
CHECK_NUMBER(GIO_PROXY_NO_SIGNALS, G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS)
CHECK_NUMBER(GIO_PROXY_NO_AUTO_START, G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START)
CHECK_NUMBER(CGIO_DBUS_ERROR_SERVICE_UNKNOWN, G_DBUS_ERROR_SERVICE_UNKNOWN)
CHECK_NUMBER(CGIO_DBUS_ERROR_NAME_HAS_NO_OWNER, G_DBUS_ERROR_NAME_HAS_NO_OWNER)
CHECK_NUMBER(CGIO_DBUS_ERROR_NO_REPLY, G_DBUS_ERROR_NO_REPLY)
CHECK_NUMBER(CGIO_DBUS_ERROR_ACCESS_DENIED, G_DBUS_ERROR_ACCESS_DENIED)
CHECK_NUMBER(CGIO_DBUS_ERROR_UNKNOWN_METHOD, G_DBUS_ERROR_UNKNOWN_METHOD)
CHECK_NUMBER(CGIO_DBUS_ERROR_UNKNOWN_OBJECT, G_DBUS_ERROR_UNKNOWN_OBJECT)
CHECK_NUMBER(CGIO_ERROR_NOT_FOUND, G_IO_ERROR_NOT_FOUND)
CHECK_NUMBER(CGIO_ERROR_INVALID_ARGUMENT, G_IO_ERROR_INVALID_ARGUMENT)
CHECK_NUMBER(CGIO_ERROR_PERMISSION_DENIED, G_IO_ERROR_PERMISSION_DENIED)
CHECK_NUMBER(CGIO_ERROR_CLOSED, G_IO_ERROR_CLOSED)
CHECK_NUMBER(CGIO_ERROR_TIMED_OUT, G_IO_ERROR_TIMED_OUT)
CHECK_NUMBER(CGIO_ERROR_DBUS_ERROR, G_IO_ERROR_DBUS_ERROR)
CHECK_NUMBER(CGIO_ERROR_CONNECTION_REFUSED, G_IO_ERROR_CONNECTION_REFUSED)
CHECK_NUMBER(CGIO_ERROR_BROKEN_PIPE, G_IO_ERROR_BROKEN_PIPE)

static bool check(bool is_right, const char *what) {
    if (!is_right) std::fprintf(stderr, "ERROR: %s\n", what);
    return is_right;
}

int main() {
    GSignalQuery closed = {};
    g_type_class_unref(g_type_class_ref(G_TYPE_DBUS_CONNECTION));
    g_signal_query(g_signal_lookup("closed", G_TYPE_DBUS_CONNECTION), &closed);
    bool is_right = check(closed.return_type == G_TYPE_NONE && closed.n_params == 2 &&
                              closed.param_types[0] == G_TYPE_BOOLEAN && closed.param_types[1] == G_TYPE_ERROR,
                          "the signal \"closed\" of a connection brings something else than a boolean and an error");
    is_right &= check(std::strcmp(g_quark_to_string(G_IO_ERROR), "g-io-error-quark") == 0, "GIO's errors have another name");
    is_right &= check(std::strcmp(g_quark_to_string(G_DBUS_ERROR), "g-dbus-error-quark") == 0,
                      "D-Bus's errors have another name");
    return is_right ? 0 : 1;
}
