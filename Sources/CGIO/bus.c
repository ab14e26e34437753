// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cgio_library.h"

struct cgio_pending *cgio_pending_new(cgio_completion completion, void *data) {
    struct cgio_pending *pending = malloc(sizeof *pending);
    if (!pending) abort(); // as GLib does without memory
    *pending = (struct cgio_pending){completion, data};
    return pending;
}

void cgio_pending_succeed(struct cgio_pending *pending, void *value) {
    pending->completion(pending->data, value, NULL);
    free(pending);
}

void cgio_pending_fail(struct cgio_pending *pending, struct glib_error *error) {
    char *name = cgio_library.error_name(error);
    if (name) cgio_library.error_strip(error);
    cgio_failure failure = {
        .domain = cgio_library.quark_name(error->domain),
        .code = error->code,
        .name = name,
        .message = error->message,
    };
    pending->completion(pending->data, NULL, &failure);
    cgio_library.free(name);
    cgio_library.error_free(error);
    free(pending);
}

static void finish(struct cgio_pending *pending, void *value, struct glib_error *error) {
    if (error) {
        cgio_pending_fail(pending, error);
    } else {
        cgio_pending_succeed(pending, value);
    }
}

static void connected(void *source, void *result, void *data) {
    (void)source;
    struct glib_error *error = NULL;
    void *connection = cgio_library.connection_new_finish(result, &error);
    if (connection) cgio_library.connection_exit_on_close(connection, 0);
    finish(data, connection, error);
}

void cgio_connect(const char *address, cgio_completion completion, void *data) {
    cgio_library.connection_new(address, GIO_CONNECTION_CLIENT | GIO_CONNECTION_MESSAGE_BUS, NULL, NULL, connected,
                                cgio_pending_new(completion, data));
}

struct closing {
    cgio_work closed;
    void *data;
    cgio_work release;
};

static void on_closed(void *connection, int vanished, struct glib_error *error, struct closing *closing) {
    (void)connection, (void)vanished, (void)error;
    closing->closed(closing->data);
}

static void free_closing(void *argument, void *closure) {
    (void)closure;
    struct closing *closing = argument;
    closing->release(closing->data);
    free(closing);
}

unsigned long cgio_connection_when_closed(void *connection, cgio_work closed, void *data, cgio_work release) {
    struct closing *closing = malloc(sizeof *closing);
    if (!closing) abort();
    *closing = (struct closing){closed, data, release};
    return cgio_library.signal_connect(connection, "closed", (void (*)(void))on_closed, closing, free_closing, 0);
}

void cgio_connection_forget_closed(void *connection, unsigned long number) {
    cgio_library.signal_disconnect(connection, number);
}

void cgio_connection_end(void *connection) {
    cgio_library.signals_disconnect(connection, GLIB_SIGNAL_MATCH_FUNC, 0, 0, NULL, (void *)on_closed, NULL);
    // GDBus keeps the connection until this thread has handled the pending messages.
    cgio_library.connection_close(connection, NULL, NULL, NULL);
    cgio_library.object_unref(connection);
}

static void called(void *connection, void *result, void *data) {
    struct glib_error *error = NULL;
    void *value = cgio_library.connection_call_finish(connection, NULL, result, &error);
    finish(data, value, error);
}

void cgio_call(void *connection, const char *destination, const char *path, const char *interface, const char *method,
               const char *arguments, void *secret, int descriptor, const char *reply, bool starts,
               cgio_completion completion, void *data) {
    struct cgio_pending *pending = cgio_pending_new(completion, data);
    struct glib_error *error = NULL;
    void *parameters = NULL;
    if (arguments && secret) {
        parameters = cgio_library.variant_sink(cgio_library.variant_parsed(arguments, secret));
    } else if (arguments) {
        parameters = cgio_library.variant_parse(NULL, arguments, NULL, NULL, &error);
        if (error) {
            cgio_pending_fail(pending, error);
            return;
        }
    }
    void *descriptors = NULL;
    if (descriptor >= 0) {
        descriptors = cgio_library.descriptors_new();
        // If this fails, the receiver finds no descriptor for the handle in the arguments.
        if (cgio_library.descriptors_append(descriptors, descriptor, &error) < 0) cgio_library.error_free(error);
    }
    cgio_library.connection_call(connection, destination, path, interface, method, parameters, reply,
                                 starts ? 0 : GIO_CALL_NO_AUTO_START, INT_MAX, descriptors, NULL, called, pending);
    if (descriptors) cgio_library.object_unref(descriptors);
    // The parsed value is owned, not floating: the call has a reference of its own.
    if (parameters) cgio_library.variant_unref(parameters);
}

struct listener {
    cgio_signal received;
    void *data;
    cgio_work release;
};

static void on_signal(void *connection, const char *sender, const char *path, const char *interface,
                      const char *member, void *parameters, void *data) {
    (void)connection, (void)sender;
    struct listener *listener = data;
    listener->received(listener->data, path, interface, member, parameters);
}

static void free_listener(void *argument) {
    struct listener *listener = argument;
    listener->release(listener->data);
    free(listener);
}

uint32_t cgio_subscribe(void *connection, const char *sender, const char *interface, const char *member,
                        const char *path, const char *first, cgio_signal received, void *data, cgio_work release) {
    struct listener *listener = malloc(sizeof *listener);
    if (!listener) abort();
    *listener = (struct listener){received, data, release};
    return cgio_library.subscribe(connection, sender, interface, member, path, first, 0, on_signal, listener,
                                  free_listener);
}

void cgio_unsubscribe(void *connection, uint32_t subscription) {
    cgio_library.unsubscribe(connection, subscription);
}

void cgio_variant_ref(void *variant) { cgio_library.variant_ref(variant); }
void cgio_variant_free(void *variant) { cgio_library.variant_unref(variant); }
bool cgio_variant_has_type(void *variant, const char *type) {
    return strcmp(cgio_library.variant_type(variant), type) == 0;
}
size_t cgio_variant_count(void *variant) {
    // GLib ends the program for a value that is no container.
    return cgio_library.variant_has_parts(variant) ? cgio_library.variant_count(variant) : 0;
}
void *cgio_variant_child(void *variant, size_t index) { return cgio_library.variant_child(variant, index); }
void *cgio_variant_content(void *variant) { return cgio_library.variant_content(variant); }
const char *cgio_variant_string(void *variant) { return cgio_library.variant_text(variant, NULL); }
bool cgio_variant_bool(void *variant) { return cgio_library.variant_bool(variant); }
uint32_t cgio_variant_uint32(void *variant) { return cgio_library.variant_uint32(variant); }
int32_t cgio_variant_int32(void *variant) { return cgio_library.variant_int32(variant); }
uint64_t cgio_variant_uint64(void *variant) { return cgio_library.variant_uint64(variant); }
const uint8_t *cgio_variant_bytes(void *variant, size_t *count) {
    return cgio_library.variant_array(variant, count, 1);
}
bool cgio_is_object_path(const char *text) { return cgio_library.is_object_path(text); }

int cgio_memory_file(void) { return memfd_create("identity-client", MFD_CLOEXEC); }
