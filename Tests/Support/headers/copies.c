// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// copies LIBRARY...: loads CGIO and CLibSecret from each library, one after the other, into one process, where the name of a
// GLib class must be unique. Run by Scripts/check-headers.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "clibsecret.h"

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int loaded;

static void on_started(void *data, cgio_thread *thread, cgio_readiness readiness, const char *reason) {
    cgio_readiness (*load)(const char *, const char **) = (cgio_readiness (*)(const char *, const char **))data;
    (void)thread;
    int result = readiness == CGIO_READY && load("libsecret-1.so.0", &reason) == CGIO_READY ? 1 : -1;
    pthread_mutex_lock(&guard);
    loaded = result;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&guard);
}

int main(int count, char **paths) {
    for (int index = 1; index < count; index++) {
        void *library = dlopen(paths[index], RTLD_NOW | RTLD_LOCAL);
        int (*start)(const char *, cgio_started, void *) = NULL;
        if (library) *(void **)&start = dlsym(library, "cgio_thread_start");
        void *load = library ? dlsym(library, "clibsecret_load") : NULL;
        if (!start || !load || start("libgio-2.0.so.0", on_started, load) != 0) {
            fprintf(stderr, "ERROR: %s could not be started\n", paths[index]);
            return 1;
        }
        pthread_mutex_lock(&guard);
        while (!loaded) pthread_cond_wait(&changed, &guard);
        int result = loaded;
        loaded = 0;
        pthread_mutex_unlock(&guard);
        if (result != 1) {
            fprintf(stderr, "ERROR: %s does not find libsecret fit beside another copy\n", paths[index]);
            return 1;
        }
    }
    return 0;
}
