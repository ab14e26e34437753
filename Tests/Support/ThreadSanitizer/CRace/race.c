// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#include "race.h"

#include <pthread.h>
#include <stddef.h>

static int count;
static struct {
    int members[16];
} copied;

static void *increment(void *unused) {
    (void)unused;
    count++;
    return NULL;
}

static void *copy(void *unused) {
    (void)unused;
    __typeof__(copied) own = {{1}};
    copied = own;
    return NULL;
}

static void run_twice(void *(*body)(void *)) {
    pthread_t threads[2];
    for (int index = 0; index < 2; index++) pthread_create(&threads[index], NULL, body, NULL);
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
}

int crace_count(void) {
    run_twice(increment);
    return count;
}

int crace_copy(void) {
    run_twice(copy);
    return copied.members[0];
}
