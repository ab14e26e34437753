// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Encryption of secrets by libsecret, which is loaded with dlopen: no libsecret header is read, nothing is linked.
//
// Load CGIO first, and open and close sessions on the thread of its connection.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgio.h"

/// Loads libsecret, once. If it is unloadable, `reason` becomes the loader's message, valid until this thread loads again.
cgio_readiness clibsecret_load(const char *library, const char **reason);

/// Opens a session with the keyring over `connection`, in which secrets are encrypted. A keyring without encryption gets a
/// plain session. Starts no keyring. The value is the session, which the receiver owns.
void clibsecret_open(void *connection, cgio_completion completion, void *data);
void clibsecret_close(void *session);

// A session never changes: the functions below may be called on any thread.

/// Returns the session's path, which is valid as long as the session.
const char *clibsecret_path(void *session);
/// Returns an encrypted secret as a GVariant of type (oayays), which the caller owns, or NULL if libsecret failed.
void *clibsecret_encrypt(void *session, const uint8_t *bytes, size_t count, const char *content_type);
/// Decrypts a GVariant of that type. Passes the content to `taken`, and wipes it afterwards. Returns whether it could be read.
bool clibsecret_decrypt(void *session, void *secret, void (*taken)(void *data, const uint8_t *bytes, size_t count),
                        void *data);
