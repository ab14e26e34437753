// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cgio_library.h"

CGIO_DLOPEN_NOTE(gio, "libgio-2.0.so.0", "The session bus, over which the desktop's keyring is reached");

struct cgio_library cgio_library;

struct cgio_thread {
    void *context;
};

static bool find_functions(void *handle, struct cgio_library *library) {
#define CGIO_FIND(field, symbol, result, parameters) \
    *(void **)&library->field = dlsym(handle, #symbol); \
    if (!library->field) return false;
    CGIO_FUNCTIONS(CGIO_FIND)
#undef CGIO_FIND
    return true;
}

/// Loads GIO, and with it GObject and GLib, once. After a failure, the next call looks for the library again.
static cgio_readiness load(const char *name, const char **reason) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static bool is_loaded = false;
    // Never unloaded: GLib has threads and registered types of its own.
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        *reason = dlerror();
        return CGIO_UNLOADABLE;
    }
    pthread_mutex_lock(&guard);
    if (!is_loaded) {
        struct cgio_library found;
        if (find_functions(handle, &found)) {
            cgio_library = found;
            is_loaded = true;
        }
    }
    bool is_ready = is_loaded;
    pthread_mutex_unlock(&guard);
    return is_ready ? CGIO_READY : CGIO_UNSUITABLE;
}

struct start {
    char *library;
    cgio_started started;
    void *data;
};

static void *run(void *argument) {
#ifdef __linux__
    // The starting thread must not do this: without GIO, this thread may have ended by then.
    pthread_setname_np(pthread_self(), "identity-glib");
#endif
    struct start start = *(struct start *)argument;
    free(argument);
    const char *reason = NULL;
    cgio_readiness readiness = load(start.library, &reason);
    free(start.library);
    struct cgio_thread *thread = readiness == CGIO_READY ? calloc(1, sizeof *thread) : NULL;
    if (!thread) {
        start.started(start.data, NULL, readiness == CGIO_READY ? CGIO_EXHAUSTED : readiness, reason);
        return NULL;
    }
    thread->context = cgio_library.context_new();
    cgio_library.context_push(thread->context);
    start.started(start.data, thread, CGIO_READY, NULL);
    for (;;) cgio_library.context_iterate(thread->context, 1);
}

int cgio_thread_start(const char *library, cgio_started started, void *data) {
    struct start *start = malloc(sizeof *start);
    char *name = strdup(library);
    if (!start || !name) {
        free(start);
        free(name);
        return 12; // ENOMEM
    }
    *start = (struct start){.library = name, .started = started, .data = data};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // Signals belong to the program: this thread blocks them all.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int status = pthread_create(&thread, &attributes, run, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (status != 0) {
        free(start->library);
        free(start);
        return status;
    }
    return 0;
}

struct job {
    cgio_work work;
    void *data;
};

static int do_job(void *argument) {
    struct job job = *(struct job *)argument;
    job.work(job.data);
    return 0; // once
}

void cgio_thread_do(cgio_thread *thread, cgio_work work, void *data) {
    struct job *job = malloc(sizeof *job);
    if (!job) abort(); // as GLib does without memory
    *job = (struct job){work, data};
    void *source = cgio_library.idle_new();
    cgio_library.source_priority(source, GLIB_PRIORITY_DEFAULT);
    cgio_library.source_callback(source, do_job, job, free);
    cgio_library.source_attach(source, thread->context);
    cgio_library.source_unref(source);
}
