// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The part of libsecret that stores items, loaded with dlopen: no libsecret header is read, nothing is linked.
//
// Everything is to be called on the thread of a connection of CGIO, which is loaded first.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgio.h"

/// Loads libsecret, once. `reason` becomes what the loader said where it is unloadable; valid until this thread loads again.
cgio_readiness clibsecret_load(const char *library, const char **reason);

/// libsecret was told to show a prompt. It shows none itself: whoever is called runs it, or does not, and ends it
/// with clibsecret_prompt_end. `result` is the type of what the prompt leads to: "o" a new item, "ao" an unlocking.
typedef void (*clibsecret_prompted)(void *data, const char *path, const char *result, void *prompt);

/// Ends a prompt, once: with what it led to (a GVariant, whose owner remains the caller), or with NULL.
void clibsecret_prompt_end(void *prompt, void *result);

/// A Secret Service by way of `connection`. The value is the service, owned by the receiver. `data` of the prompts is
/// released with it.
void clibsecret_service_new(void *connection, int milliseconds, clibsecret_prompted prompted, void *prompt_data,
                            cgio_work release, cgio_completion completion, void *data);
void clibsecret_service_free(void *service);

/// Agrees on how secrets are encrypted, unless that has been done. The value says nothing.
void clibsecret_open_session(void *service, cgio_completion completion, void *data);

/// Stores an item in a collection, in place of one with the same attributes. The value says nothing.
void clibsecret_store(void *service, const char *collection, const char *label, const char *const *attributes,
                      const uint8_t *bytes, size_t count, const char *content_type, cgio_completion completion,
                      void *data);
