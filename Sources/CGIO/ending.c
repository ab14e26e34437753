// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>

#include "cgio_library.h"

/// Milliseconds. To close waits for nobody, also where the bus is stopped: what was still to be sent is given up.
enum { PATIENCE = 1000 };

/// A connection that is being closed.
struct cgio_ending {
    struct cgio_ending *next;
    cgio_thread *thread;
    void *connection;
    unsigned long signal;
    /// Its socket is closed.
    bool is_closed;
    /// Whoever waited for an answer has been told that there will be none.
    bool is_told;
};

/// Lets go of the connection when nothing of it is left to come.
static void end_if_done(struct cgio_ending *ending) {
    if (!ending->is_closed || !ending->is_told) return;
    struct cgio_ending **place = &ending->thread->endings;
    while (*place != ending) place = &(*place)->next;
    *place = ending->next;
    cgio_library.signal_disconnect(ending->connection, ending->signal);
    cgio_library.object_unref(ending->connection);
    free(ending);
}

static void on_told(void *connection, int vanished, struct glib_error *error, struct cgio_ending *ending) {
    (void)connection, (void)vanished, (void)error;
    ending->is_told = true;
    end_if_done(ending);
}

static void on_closed(void *connection, void *result, void *data) {
    (void)connection, (void)result;
    struct cgio_ending *ending = data;
    ending->is_closed = true;
    end_if_done(ending);
}

void cgio_connection_end(cgio_thread *thread, void *connection) {
    struct cgio_ending *ending = calloc(1, sizeof *ending);
    if (!ending) abort(); // GLib ends the program in this case, too
    ending->thread = thread;
    ending->connection = connection;
    ending->next = thread->endings;
    thread->endings = ending;
    cgio_connection_forget_all_closed(connection);
    ending->signal = cgio_library.signal_connect(connection, "closed", (void (*)(void))on_told, ending, NULL, 0);
    // Where the bus has closed it, the signal has been sent, or waits on this thread.
    ending->is_told = cgio_library.connection_is_closed(connection);
    cgio_library.connection_close(connection, NULL, on_closed, ending);
}

static int on_time_over(void *is_over) {
    *(bool *)is_over = true;
    return 0; // once
}

void cgio_finish_endings(cgio_thread *thread) {
    if (!thread->endings) return;
    bool is_over = false;
    void *timer = cgio_library.timeout_new(PATIENCE);
    cgio_library.source_callback(timer, on_time_over, &is_over, NULL);
    cgio_library.source_attach(timer, thread->context);
    while (thread->endings && !is_over) cgio_library.context_iterate(thread->context, 1);
    cgio_library.source_destroy(timer);
    cgio_library.source_unref(timer);
}
