// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Checks each block that a transfer's buffer frees while it grows and when it ends: no code or token may be left in memory.
// Run by Scripts/check-headers.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char secret[] = "authorization-code";
static int freed, found;

static void watched_free(void *block) {
    if (block) {
        freed++;
        if (memmem(block, malloc_usable_size(block), secret, sizeof secret - 1)) found++;
    }
    free(block);
}

static void *watched_realloc(void *block, size_t size) {
    void *grown = malloc(size);
    if (grown && block) memcpy(grown, block, malloc_usable_size(block) < size ? malloc_usable_size(block) : size);
    watched_free(block);
    return grown;
}

#define free watched_free
#define realloc watched_realloc
#include "../../../Sources/CCurl/transfer.c"
#undef free
#undef realloc

int main(void) {
    struct buffer buffer = {0};
    for (int index = 0; index < 1000; index++) {
        if (!append(&buffer, secret, sizeof secret)) return 1;
    }
    // Resetting the count does not exempt the bytes behind it from wiping.
    buffer.count = 0;
    wipe(&buffer);
    if (freed < 3 || found) {
        fprintf(stderr, "ERROR: %d of %d blocks still had the secret when they were given back\n", found, freed);
        return 1;
    }
    return 0;
}
