// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "cgio_library.h"
#include "clibsecret.h"

static struct {
    glib_type (*service_type)(void);
    glib_type (*proxy_type)(void);
    void (*open)(void *, void *, glib_ready, void *);
    int (*open_finish)(void *, void *, struct glib_error **);
    void (*store)(void *, const void *, void *, const char *, const char *, void *, void *, glib_ready, void *);
    int (*store_finish)(void *, void *, struct glib_error **);
    void *(*value_new)(const char *, ssize_t, const char *);
    void (*value_unref)(void *);
    void (*proxy_timeout)(void *, int);
    /// libsecret's class for a service, with prompts that are ours.
    glib_type type;
    /// Where in an instance of that class our own fields begin.
    size_t offset;
    /// Where in the class libsecret's functions begin.
    size_t class_offset;
} secret;

/// What an instance has besides libsecret's own.
struct prompts {
    clibsecret_prompted prompted;
    void *data;
    cgio_work release;
};

/// What SecretServiceClass has after its parent's.
struct service_functions {
    glib_type collection_type;
    glib_type item_type;
    void *(*prompt_now)(void *service, void *prompt, void *cancellable, const char *type, struct glib_error **);
    void (*prompt)(void *service, void *prompt, const char *type, void *cancellable, glib_ready, void *);
    void *(*prompt_finish)(void *service, void *result, struct glib_error **);
};

/// The head of GObjectClass.
struct object_class {
    glib_type type;
    void *construct_properties;
    void *(*constructor)(glib_type type, unsigned count, void *properties);
};

static struct prompts *prompts_of(void *service) {
    return (struct prompts *)((char *)service + secret.offset);
}

static void refuse(void *task) {
    cgio_library.task_fail(task, cgio_library.quark("identity-prompt"), 0, "%s", "The prompt was not answered.");
}

/// Takes the place of libsecret's own, which hangs after it was cancelled, and ends gnome-keyring with its dialog.
static void prompt(void *service, void *prompt, const char *type, void *cancellable, glib_ready ready, void *data) {
    (void)cancellable;
    void *task = cgio_library.task_new(service, NULL, ready, data);
    struct prompts *prompts = prompts_of(service);
    if (prompts->prompted) {
        prompts->prompted(prompts->data, cgio_library.proxy_path(prompt), type, task);
    } else {
        clibsecret_prompt_end(task, NULL);
    }
}

static void *prompt_finish(void *service, void *result, struct glib_error **error) {
    (void)service;
    return cgio_library.task_finish(result, error);
}

void clibsecret_prompt_end(void *task, void *result) {
    if (result) {
        cgio_library.task_return(task, cgio_library.variant_ref(result), cgio_library.variant_unref);
    } else {
        refuse(task);
    }
    cgio_library.object_unref(task);
}

static void set_up_class(void *class, void *data) {
    (void)data;
    // libsecret's constructor insists on the connection that the whole process shares; a proxy's own does not.
    const struct object_class *proxy = cgio_library.class_ref(secret.proxy_type());
    ((struct object_class *)class)->constructor = proxy->constructor;
    struct service_functions *functions = (struct service_functions *)((char *)class + secret.class_offset);
    functions->prompt = prompt;
    functions->prompt_finish = prompt_finish;
}

static bool find_functions(void *handle) {
#define FIND(field, symbol) \
    *(void **)&secret.field = dlsym(handle, symbol); \
    if (!secret.field) return false
    FIND(service_type, "secret_service_get_type");
    FIND(proxy_type, "g_dbus_proxy_get_type");
    FIND(proxy_timeout, "g_dbus_proxy_set_default_timeout");
    FIND(open, "secret_service_ensure_session");
    FIND(open_finish, "secret_service_ensure_session_finish");
    FIND(store, "secret_service_store");
    FIND(store_finish, "secret_service_store_finish");
    FIND(value_new, "secret_value_new");
    FIND(value_unref, "secret_value_unref");
#undef FIND
    return true;
}

static bool register_class(void) {
    struct glib_type_query service = {0}, proxy = {0};
    cgio_library.type_query(secret.service_type(), &service);
    cgio_library.type_query(secret.proxy_type(), &proxy);
    if (!service.type || service.class_size < proxy.class_size + sizeof(struct service_functions)) return false;
    secret.class_offset = proxy.class_size;
    secret.offset = (service.instance_size + 15) & ~(size_t)15;
    secret.type = cgio_library.type_register(service.type, "IdentityKeyringSecretService", service.class_size,
                                             set_up_class, (unsigned)(secret.offset + sizeof(struct prompts)), NULL, 0);
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

/// A service that is being made, and what it will need.
struct making {
    struct cgio_pending *pending;
    struct prompts prompts;
    int milliseconds;
};

static void made(void *service, void *result, void *data) {
    struct making *making = data;
    struct glib_error *error = NULL;
    struct cgio_pending *pending = making->pending;
    if (cgio_library.initialize_finish(service, result, &error)) {
        secret.proxy_timeout(service, making->milliseconds);
        *prompts_of(service) = making->prompts;
        cgio_pending_succeed(pending, service);
    } else {
        cgio_library.object_unref(service);
        making->prompts.release(making->prompts.data);
        cgio_pending_fail(pending, error);
    }
    free(making);
}

void clibsecret_service_new(void *connection, int milliseconds, clibsecret_prompted prompted, void *prompt_data,
                            cgio_work release, cgio_completion completion, void *data) {
    struct making *making = malloc(sizeof *making);
    if (!making) abort(); // GLib ends the program in this case, too
    making->pending = cgio_pending_new(completion, data);
    making->prompts = (struct prompts){prompted, prompt_data, release};
    making->milliseconds = milliseconds;
    // Without properties and signals: what changes is heard by the connection's own subscriptions.
    void *service = cgio_library.object_new(secret.type,
                                            "g-connection", connection,
                                            "g-flags", GIO_PROXY_NO_PROPERTIES | GIO_PROXY_NO_SIGNALS,
                                            "g-name", "org.freedesktop.secrets",
                                            "g-object-path", "/org/freedesktop/secrets",
                                            "g-interface-name", "org.freedesktop.Secret.Service",
                                            (const char *)NULL);
    cgio_library.initialize(service, GLIB_PRIORITY_DEFAULT, NULL, made, making);
}

void clibsecret_service_free(void *service) {
    struct prompts prompts = *prompts_of(service);
    *prompts_of(service) = (struct prompts){NULL, NULL, NULL};
    cgio_library.object_unref(service);
    prompts.release(prompts.data);
}

static void *table_of(const char *const *attributes) {
    void *table = cgio_library.table_new(cgio_library.text_hash, cgio_library.text_equal, cgio_library.free,
                                         cgio_library.free);
    for (; attributes[0]; attributes += 2) {
        cgio_library.table_replace(table, cgio_library.duplicate(attributes[0]),
                                   cgio_library.duplicate(attributes[1]));
    }
    return table;
}

static void opened(void *service, void *result, void *data) {
    struct glib_error *error = NULL;
    if (secret.open_finish(service, result, &error)) {
        cgio_pending_succeed(data, NULL);
    } else {
        cgio_pending_fail(data, error);
    }
}

void clibsecret_open_session(void *service, cgio_completion completion, void *data) {
    secret.open(service, NULL, opened, cgio_pending_new(completion, data));
}

static void stored(void *service, void *result, void *data) {
    struct glib_error *error = NULL;
    if (secret.store_finish(service, result, &error)) {
        cgio_pending_succeed(data, NULL);
    } else {
        cgio_pending_fail(data, error);
    }
}

void clibsecret_store(void *service, const char *collection, const char *label, const char *const *attributes,
                      const uint8_t *bytes, size_t count, const char *content_type, cgio_completion completion,
                      void *data) {
    void *table = table_of(attributes);
    void *value = secret.value_new((const char *)bytes, (ssize_t)count, content_type);
    secret.store(service, NULL, table, collection, label, value, NULL, stored, cgio_pending_new(completion, data));
    secret.value_unref(value);
    cgio_library.table_unref(table);
}
