// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The part of libcurl that CurlTransport needs, loaded with dlopen: no curl header is read, nothing is linked.
//
// A driver belongs to one thread, the one that calls ccurl_driver_open; only ccurl_driver_wake may be called from
// any other. A transfer belongs to its driver's thread; one that is a channel, to any one thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ccurl_driver ccurl_driver;
typedef struct ccurl_transfer ccurl_transfer;

/// Why libcurl cannot be used.
typedef enum {
    CCURL_READY = 0,
    /// The loader found no library of these names, or could not load what it found: ccurl_driver_reason.
    CCURL_UNLOADABLE,
    /// A library was found, but it is older than 7.66, lacks https, or numbers its options otherwise.
    CCURL_UNSUITABLE,
    /// Out of memory or file descriptors.
    CCURL_EXHAUSTED,
} ccurl_readiness;

/// The codes of libcurl that the transport tells apart (CURLcode).
enum {
    CCURL_OK = 0,
    CCURL_UNSUPPORTED_PROTOCOL = 1,
    CCURL_PROXY_NOT_RESOLVED = 5,
    CCURL_HOST_NOT_RESOLVED = 6,
    CCURL_CONNECT = 7,
    CCURL_WEIRD_ANSWER = 8,
    CCURL_PARTIAL = 18,
    CCURL_OUT_OF_MEMORY = 27,
    CCURL_TIMED_OUT = 28,
    CCURL_TLS_CONNECT = 35,
    CCURL_NOTHING = 52,
    CCURL_SEND = 55,
    CCURL_RECEIVE = 56,
    CCURL_ABORTED = 42,
    CCURL_PEER_NOT_TRUSTED = 60,
    CCURL_BAD_ENCODING = 61,
    CCURL_REWIND = 65,
    CCURL_BAD_AUTHORITIES = 77,
    CCURL_AGAIN = 81,
    CCURL_PROXY = 97,
};

// MARK: Driver: one libcurl multi handle and what wakes it

/// A driver that has loaded nothing yet; NULL without memory or file descriptors.
ccurl_driver *ccurl_driver_new(void);
/// Frees what ccurl_driver_close left: to be called last, from any thread.
void ccurl_driver_free(ccurl_driver *driver);
/// Makes the current or the next ccurl_driver_wait return. From any thread.
void ccurl_driver_wake(ccurl_driver *driver);

/// Loads the first usable library of the two names. The names are tried in order; a library newer than
/// `newest_version` is used as if it were that one.
ccurl_readiness ccurl_driver_open(
    ccurl_driver *driver, const char *name, const char *other_name, unsigned newest_version);
/// The loader's words for why it did not load the first library that it could not load, at most 200 bytes; empty where
/// that never happened.
const char *ccurl_driver_reason(const ccurl_driver *driver);
/// Ends all connections. All transfers must have been freed.
void ccurl_driver_close(ccurl_driver *driver);
/// The library's version as 0xXXYYZZ, 0 before it is loaded.
unsigned ccurl_driver_version(const ccurl_driver *driver);
/// Whether a transfer can be dropped while its name is being resolved without waiting for the resolver (7.87).
bool ccurl_driver_abandons_resolver(const ccurl_driver *driver);

/// Moves all transfers on without blocking. 0 or a CURLMcode.
int ccurl_driver_perform(ccurl_driver *driver);
/// Waits until a transfer can move on, a wake, or the time is over. 0 or a CURLMcode.
int ccurl_driver_wait(ccurl_driver *driver, int milliseconds);
/// The next transfer that ended, with its code; NULL when there is none.
ccurl_transfer *ccurl_driver_next_finished(ccurl_driver *driver, int *code);

// MARK: Transfer: one request and its answer

/// A transfer with the transport's fixed rules; NULL without memory. `tag` is given back by ccurl_transfer_tag.
ccurl_transfer *ccurl_transfer_new(ccurl_driver *driver, uint64_t tag);
/// Ends the transfer if it was started, and frees it.
void ccurl_transfer_free(ccurl_transfer *transfer);
uint64_t ccurl_transfer_tag(const ccurl_transfer *transfer);

// Strings and bytes are copied. A refused option is remembered and reported by ccurl_transfer_start.
void ccurl_transfer_set_target(ccurl_transfer *transfer, const char *method, const char *url);
/// For loopback hosts: http is allowed as well, and no proxy is used.
void ccurl_transfer_set_loopback(ccurl_transfer *transfer);
/// Sends it through this proxy, unless `no_proxy` names the host; "" for none.
void ccurl_transfer_set_proxy(ccurl_transfer *transfer, const char *proxy);
/// Adds "Name: value", "Name;" for an empty value, "Name:" against a field that libcurl would add.
void ccurl_transfer_add_field(ccurl_transfer *transfer, const char *line);
/// Asks for an answer that is not compressed, and decompresses what the answer's field names. Limits count what comes out.
void ccurl_transfer_set_decompressing(ccurl_transfer *transfer);
void ccurl_transfer_set_body(ccurl_transfer *transfer, const void *bytes, size_t count);
/// Both bodies pass through bounded buffers: what arrives is paused above `window` bytes. The transfer fails when for
/// so long nothing moved; no limit is set to the answer's size.
void ccurl_transfer_set_stream(ccurl_transfer *transfer, size_t window, long stall_seconds);
/// A body of this length, which ccurl_transfer_give_body gives piece by piece.
void ccurl_transfer_set_streamed_body(ccurl_transfer *transfer, int64_t length);
/// 0 means no total time.
void ccurl_transfer_set_times(ccurl_transfer *transfer, long total_ms, long connect_ms);
void ccurl_transfer_set_limits(ccurl_transfer *transfer, size_t head_bytes, size_t body_bytes);
/// NULL keeps the system's file or directory.
void ccurl_transfer_set_authorities(ccurl_transfer *transfer, const char *file, const char *directory);
/// Trusts this file alone.
void ccurl_transfer_set_only_authorities(ccurl_transfer *transfer, const char *file);

/// Hands the transfer to the driver. 0, or the CURLcode of the refused option.
int ccurl_transfer_start(ccurl_transfer *transfer);
/// The number of the refused option, 0 when none was.
int ccurl_transfer_refused_option(const ccurl_transfer *transfer);

// MARK: Streamed transfers, between two calls of ccurl_driver_perform

/// Whether all that was given of the body is sent.
bool ccurl_transfer_wants_body(const ccurl_transfer *transfer);
/// Gives the next piece, when the last one is sent. `false` without memory.
bool ccurl_transfer_give_body(ccurl_transfer *transfer, const void *bytes, size_t count);
/// Forgets what arrived of the body so far.
void ccurl_transfer_clear_body(ccurl_transfer *transfer);
/// Moves a paused transfer on where there is something to send, or room again. `false` when libcurl would not.
bool ccurl_transfer_resume(ccurl_transfer *transfer);

/// Whether the head of a final answer arrived whole: libcurl takes a connection that ends inside of it for success.
bool ccurl_transfer_has_answer(const ccurl_transfer *transfer);
/// The status line and header fields of the final answer.
const uint8_t *ccurl_transfer_head(const ccurl_transfer *transfer, size_t *count);
const uint8_t *ccurl_transfer_body(const ccurl_transfer *transfer, size_t *count);
/// Whether the transfer was ended because the answer was above a limit.
bool ccurl_transfer_was_too_large(const ccurl_transfer *transfer);
/// Whether any byte of the request may have gone out, on this connection or on one before; asking a proxy for a tunnel
/// counts.
bool ccurl_transfer_was_sent(const ccurl_transfer *transfer);
/// The proxy's status when it was asked for a tunnel, else 0.
long ccurl_transfer_tunnel_status(const ccurl_transfer *transfer);
/// What libcurl says about `code`, never NULL. Valid until the transfer is freed.
const char *ccurl_transfer_reason(const ccurl_transfer *transfer, int code);

// MARK: Channels: a transfer that connects and does TLS, and leaves what goes through to its caller
//
// It needs a target, and is never started. Its driver is only read, so that many threads may have channels of one driver.

/// Connects, through the proxy if there is one; blocks up to the time for connecting. 0 or a CURLcode, which may be that of a
/// refused option.
int ccurl_channel_connect(ccurl_transfer *transfer);
/// The socket to poll. It may be readable without bytes for the caller, and have bytes for the caller without being readable.
int ccurl_channel_descriptor(const ccurl_transfer *transfer);
/// Sends without blocking. CCURL_AGAIN if nothing can be sent: the next call must have the same bytes at the same place.
int ccurl_channel_send(ccurl_transfer *transfer, const void *bytes, size_t count, size_t *sent);
/// Receives without blocking. CCURL_AGAIN if nothing has come; CCURL_OK and 0 at the end.
int ccurl_channel_receive(ccurl_transfer *transfer, void *bytes, size_t count, size_t *received);
