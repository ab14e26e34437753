// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#include "race.h"

#include <pthread.h>
#include <stddef.h>

static int count;

static void *increment(void *unused) {
    (void)unused;
    count++;
    return NULL;
}

int crace_run(void) {
    pthread_t threads[2];
    for (int index = 0; index < 2; index++) pthread_create(&threads[index], NULL, increment, NULL);
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
    return count;
}
