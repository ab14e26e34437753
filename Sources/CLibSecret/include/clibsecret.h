// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The part of libsecret that encrypts secrets, loaded with dlopen: no libsecret header is read, nothing is linked.
//
// To open and to close belongs on the thread of a connection of CGIO, which is loaded first.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgio.h"

/// Loads libsecret, once. `reason` becomes what the loader said where it is unloadable; valid until this thread loads again.
cgio_readiness clibsecret_load(const char *library, const char **reason);

/// Agrees with the keyring on a session in which secrets are encrypted, by way of `connection`; one that knows no
/// encryption gets a plain one. No keyring is started for it. The value is the session, owned by the receiver.
void clibsecret_open(void *connection, int milliseconds, cgio_completion completion, void *data);
void clibsecret_close(void *session);

// A session never changes: these may be called on any thread.

/// The session's path, which lives as long as the session.
const char *clibsecret_path(void *session);
/// A secret as the keyring takes it: a GVariant of type (oayays), owned by the receiver; NULL where libsecret failed.
void *clibsecret_encrypt(void *session, const uint8_t *bytes, size_t count, const char *content_type);
/// Gives `taken` what is in a GVariant of that type, which is wiped afterwards. Returns whether it could be read.
bool clibsecret_decrypt(void *session, void *secret, void (*taken)(void *data, const uint8_t *bytes, size_t count),
                        void *data);
