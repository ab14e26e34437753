// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "clibsecret.h"
#include "clibsecret_library.h"

CGIO_DLOPEN_NOTE(libsecret, "libsecret-1.so.0", "Tokens in the desktop's keyring");

static struct {
#define CLIBSECRET_FIELD(field, symbol, result, parameters) result(*field) parameters;
    CLIBSECRET_FUNCTIONS(CLIBSECRET_FIELD)
#undef CLIBSECRET_FIELD
    /// libsecret's class for a service, without its constructor.
    glib_type type;
} secret;

static void set_up_class(void *class, void *data) {
    (void)data;
    // libsecret's constructor requires the connection that the whole process shares. The constructor of a plain proxy does not.
    const struct glib_object_class *proxy = cgio_library.class_ref(secret.proxy_type());
    ((struct glib_object_class *)class)->constructor = proxy->constructor;
}

static bool find_functions(void *handle) {
#define CLIBSECRET_FIND(field, symbol, result, parameters) \
    *(void **)&secret.field = dlsym(handle, #symbol); \
    if (!secret.field) return false;
    CLIBSECRET_FUNCTIONS(CLIBSECRET_FIND)
#undef CLIBSECRET_FIND
    return true;
}

static bool register_class(void) {
    // A program may contain two copies of this code: each registers a class of its own.
    static char name[64];
    struct glib_type_query service = {0};
    cgio_library.type_query(secret.service_type(), &service);
    if (!service.type) return false;
    snprintf(name, sizeof name, "IdentityKeyringSecretService%p", (void *)name);
    secret.type = cgio_library.type_register(service.type, name, service.class_size, set_up_class,
                                             service.instance_size, NULL, 0);
    return secret.type != 0;
}

cgio_readiness clibsecret_load(const char *library, const char **reason) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        *reason = dlerror();
        return CGIO_UNLOADABLE;
    }
    pthread_mutex_lock(&guard);
    bool is_ready = secret.type != 0 || (find_functions(handle) && register_class());
    pthread_mutex_unlock(&guard);
    return is_ready ? CGIO_READY : CGIO_UNSUITABLE;
}

static void opened(void *service, void *result, void *data) {
    struct glib_error *error = NULL;
    if (secret.open_finish(service, result, &error)) {
        cgio_pending_succeed(data, service);
    } else {
        cgio_library.object_unref(service);
        cgio_pending_fail(data, error);
    }
}

static void made(void *service, void *result, void *data) {
    struct glib_error *error = NULL;
    if (cgio_library.initialize_finish(service, result, &error)) {
        secret.proxy_timeout(service, INT_MAX); // no limit
        secret.open(service, NULL, opened, data);
    } else {
        cgio_library.object_unref(service);
        cgio_pending_fail(data, error);
    }
}

void clibsecret_open(void *connection, cgio_completion completion, void *data) {
    // Without properties and signals, because the connection has subscriptions of its own.
    int flags = GIO_PROXY_NO_PROPERTIES | GIO_PROXY_NO_SIGNALS | GIO_PROXY_NO_AUTO_START;
    void *service = cgio_library.object_new(secret.type,
                                            "g-connection", connection,
                                            "g-flags", flags,
                                            "g-name", "org.freedesktop.secrets",
                                            "g-object-path", "/org/freedesktop/secrets",
                                            "g-interface-name", "org.freedesktop.Secret.Service",
                                            (const char *)NULL);
    cgio_library.initialize(service, GLIB_PRIORITY_DEFAULT, NULL, made, cgio_pending_new(completion, data));
}

void clibsecret_close(void *session) { cgio_library.object_unref(session); }

const char *clibsecret_path(void *session) { return secret.path(session); }

void *clibsecret_encrypt(void *session, const uint8_t *bytes, size_t count, const char *content_type) {
    void *value = secret.value_new((const char *)bytes, (ssize_t)count, content_type);
    void *encrypted = secret.encode(session, value);
    secret.value_unref(value);
    return encrypted ? cgio_library.variant_take(encrypted) : NULL;
}

bool clibsecret_decrypt(void *session, void *encrypted, void (*taken)(void *data, const uint8_t *bytes, size_t count),
                        void *data) {
    void *value = secret.decode(session, encrypted);
    if (!value) return false;
    size_t count = 0;
    const char *bytes = secret.value_get(value, &count);
    taken(data, (const uint8_t *)bytes, count);
    secret.value_unref(value); // the last reference: libsecret wipes the secret
    return true;
}
