// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The used functions of libsecret, declared by hand. Scripts/check-headers compares them with libsecret's own headers.
#pragma once

#include <sys/types.h>

#include "cgio_library.h"

// X(field, symbol, result, parameters)
#define CLIBSECRET_FUNCTIONS(X) \
    X(service_type, secret_service_get_type, glib_type, (void)) \
    X(proxy_type, g_dbus_proxy_get_type, glib_type, (void)) \
    X(proxy_timeout, g_dbus_proxy_set_default_timeout, void, (void *, int)) \
    X(open, secret_service_ensure_session, void, (void *, void *, glib_ready, void *)) \
    X(open_finish, secret_service_ensure_session_finish, int, (void *, void *, struct glib_error **)) \
    X(path, secret_service_get_session_dbus_path, const char *, (void *)) \
    X(encode, secret_service_encode_dbus_secret, void *, (void *, void *)) \
    X(decode, secret_service_decode_dbus_secret, void *, (void *, void *)) \
    X(value_new, secret_value_new, void *, (const char *, ssize_t, const char *)) \
    X(value_get, secret_value_get, const char *, (void *, size_t *)) \
    X(value_unref, secret_value_unref, void, (void *))
