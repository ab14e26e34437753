// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#include "library.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct buffer {
    uint8_t *bytes;
    size_t count, capacity;
};

struct ccurl_transfer {
    ccurl_driver *driver;
    void *easy;
    void *fields;
    uint64_t tag;
    int refused_option, refused_code;
    bool started, is_loopback, was_requested;
    bool is_get, is_streamed, sending_paused, receiving_paused;

    struct buffer request_body;
    size_t sent;

    struct buffer head, body;
    size_t head_limit, body_limit, head_total;
    bool head_complete, head_is_informational, too_large;

    char reason[ERROR_BUFFER_SIZE];
};

/// Wipes and frees what a buffer has, whose count stays as it is.
static void wipe(struct buffer *buffer) {
    if (buffer->bytes) explicit_bzero(buffer->bytes, buffer->capacity);
    free(buffer->bytes);
}

static bool append(struct buffer *buffer, const void *bytes, size_t count) {
    if (buffer->capacity - buffer->count < count) {
        size_t capacity = buffer->capacity ? buffer->capacity * 2 : 1024;
        while (capacity - buffer->count < count) capacity *= 2;
        // Not realloc, which may leave codes and tokens behind where they were.
        uint8_t *grown = malloc(capacity);
        if (!grown) return false;
        if (buffer->bytes) memcpy(grown, buffer->bytes, buffer->count);
        wipe(buffer);
        buffer->bytes = grown;
        buffer->capacity = capacity;
    }
    if (count) memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
    return true;
}

// MARK: Callbacks: they run on the driver's thread, inside ccurl_driver_perform

static size_t receive_body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    if (transfer->is_streamed) {
        // libcurl keeps these bytes, and gives them again when the transfer is resumed.
        if (transfer->body.count >= transfer->body_limit) {
            transfer->receiving_paused = true;
            return CALLBACK_PAUSE;
        }
    } else if (length > transfer->body_limit - transfer->body.count) {
        transfer->too_large = true;
        // What stands at the beginning may still be of use.
        (void)append(&transfer->body, bytes, transfer->body_limit - transfer->body.count);
        return 0;
    }
    return append(&transfer->body, bytes, length) ? length : 0;
}

static size_t receive_head(char *line, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count;
    // Counted over all heads of one answer, so that informational ones cannot go on for ever.
    if (length > transfer->head_limit - transfer->head_total) {
        transfer->too_large = true;
        return 0;
    }
    transfer->head_total += length;

    if (transfer->head_complete) {
        if (!transfer->head_is_informational) return length; // a trailer, which nobody asked for
        transfer->head.count = 0;
        transfer->head_complete = false;
    }
    if (transfer->head.count == 0) {
        const char *space = memchr(line, ' ', length);
        transfer->head_is_informational = space && space + 1 < line + length && space[1] == '1';
    }
    transfer->head_complete = length > 0 && (line[0] == '\r' || line[0] == '\n');
    return append(&transfer->head, line, length) ? length : 0;
}

static size_t send_body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_transfer *transfer = context;
    size_t length = size * count, left = transfer->request_body.count - transfer->sent;
    if (length > left) length = left;
    if (transfer->is_streamed && length == 0) {
        transfer->sending_paused = true;
        return CALLBACK_PAUSE;
    }
    if (length) memcpy(bytes, transfer->request_body.bytes + transfer->sent, length);
    transfer->sent += length;
    return length;
}

// libcurl repeats a request when a reused connection ends without an answer. The server may have read the body and
// spent its authorization code or refresh token by then: the second time is refused.
static int before_request(void *context, char *address, char *local_address, int port, int local_port) {
    (void)address, (void)local_address, (void)port, (void)local_port;
    ccurl_transfer *transfer = context;
    if (transfer->was_requested) return REQUEST_ABORTED;
    transfer->was_requested = true;
    return 0;
}

// Before 7.80 the same is had from a body that cannot be rewound, at the price of a second packet.
static int refuse_seek(void *context, int64_t offset, int origin) {
    (void)context, (void)offset, (void)origin;
    return SEEK_REFUSED;
}

// Most versions of libcurl open sockets that a program started meanwhile would inherit.
static int open_socket(void *context, int purpose, struct curl_socket_address *address) {
    (void)context, (void)purpose;
    int descriptor = socket(address->family, address->type | SOCK_CLOEXEC, address->protocol);
    return descriptor < 0 ? SOCKET_BAD : descriptor;
}

// MARK: Options

static void check(ccurl_transfer *transfer, int option, int code) {
    if (code == CCURL_OK || transfer->refused_option) return;
    transfer->refused_option = option;
    transfer->refused_code = code;
}

static void set_number(ccurl_transfer *transfer, int option, long value) {
    check(transfer, option, transfer->driver->library.easy_set(transfer->easy, option, value));
}

static void set_pointer(ccurl_transfer *transfer, int option, const void *value) {
    check(transfer, option, transfer->driver->library.easy_set(transfer->easy, option, value));
}

static void set_function(ccurl_transfer *transfer, int option, void (*value)(void)) {
    check(transfer, option, transfer->driver->library.easy_set(transfer->easy, option, value));
}

static void set_fixed_rules(ccurl_transfer *transfer) {
    set_pointer(transfer, OPTION_PRIVATE, transfer);
    set_pointer(transfer, OPTION_ERROR_BUFFER, transfer->reason);
    set_function(transfer, OPTION_WRITE_FUNCTION, (void (*)(void))receive_body);
    set_pointer(transfer, OPTION_WRITE_DATA, transfer);
    set_function(transfer, OPTION_HEADER_FUNCTION, (void (*)(void))receive_head);
    set_pointer(transfer, OPTION_HEADER_DATA, transfer);
    set_function(transfer, OPTION_OPEN_SOCKET_FUNCTION, (void (*)(void))open_socket);

    set_number(transfer, OPTION_NO_SIGNAL, 1);
    set_number(transfer, OPTION_NO_PROGRESS, 1);
    set_number(transfer, OPTION_FOLLOW_LOCATION, 0);
    set_number(transfer, OPTION_NETRC, 0);
    set_number(transfer, OPTION_PATH_AS_IS, 1);
    set_number(transfer, OPTION_HTTP_VERSION, HTTP_1_1);
    set_number(transfer, OPTION_HTTP09_ALLOWED, 0);
    set_number(transfer, OPTION_SUPPRESS_CONNECT_HEADERS, 1);
    set_number(transfer, OPTION_TCP_NO_DELAY, 1);
    set_number(transfer, OPTION_SSL_VERSION, TLS_1_2);
    set_number(transfer, OPTION_SSL_VERIFY_PEER, 1);
    set_number(transfer, OPTION_SSL_VERIFY_HOST, 2);
    if (ccurl_driver_abandons_resolver(transfer->driver)) set_number(transfer, OPTION_QUICK_EXIT, 1);
}

static void set_protocols(ccurl_transfer *transfer) {
    if (transfer->driver->library.version >= VERSION_PROTOCOLS_STRING) {
        set_pointer(transfer, OPTION_PROTOCOLS_STRING, transfer->is_loopback ? "http,https" : "https");
    } else {
        long http = transfer->is_loopback ? PROTOCOL_BIT_HTTP : 0;
        set_number(transfer, OPTION_PROTOCOLS, PROTOCOL_BIT_HTTPS | http);
    }
}

// MARK: Transfer

ccurl_transfer *ccurl_transfer_new(ccurl_driver *driver, uint64_t tag) {
    ccurl_transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) return NULL;
    transfer->driver = driver;
    transfer->tag = tag;
    transfer->easy = driver->library.easy_init();
    if (!transfer->easy) {
        free(transfer);
        return NULL;
    }
    set_fixed_rules(transfer);
    return transfer;
}

void ccurl_transfer_free(ccurl_transfer *transfer) {
    struct curl_library *library = &transfer->driver->library;
    if (transfer->started) library->multi_remove(transfer->driver->multi, transfer->easy);
    library->easy_cleanup(transfer->easy);
    library->list_free(transfer->fields);
    // They may hold codes and tokens.
    wipe(&transfer->request_body);
    wipe(&transfer->head);
    wipe(&transfer->body);
    free(transfer);
}

uint64_t ccurl_transfer_tag(const ccurl_transfer *transfer) { return transfer->tag; }

void ccurl_transfer_set_target(ccurl_transfer *transfer, const char *method, const char *url) {
    set_pointer(transfer, OPTION_URL, url);
    transfer->is_get = strcmp(method, "GET") == 0;
    if (strcmp(method, "HEAD") == 0) {
        set_number(transfer, OPTION_NO_BODY, 1);
    } else if (!transfer->is_get) {
        set_pointer(transfer, OPTION_CUSTOM_REQUEST, method);
    }
}

void ccurl_transfer_set_loopback(ccurl_transfer *transfer) {
    transfer->is_loopback = true;
    set_pointer(transfer, OPTION_PROXY, "");
    set_pointer(transfer, OPTION_NO_PROXY, "*");
}

void ccurl_transfer_set_proxy(ccurl_transfer *transfer, const char *proxy) {
    set_pointer(transfer, OPTION_PROXY, proxy);
}

void ccurl_transfer_add_field(ccurl_transfer *transfer, const char *line) {
    void *fields = transfer->driver->library.list_append(transfer->fields, line);
    if (fields) {
        transfer->fields = fields;
    } else {
        check(transfer, OPTION_HTTP_HEADER, CCURL_OUT_OF_MEMORY);
    }
}

void ccurl_transfer_set_decompressing(ccurl_transfer *transfer) {
    set_pointer(transfer, OPTION_ACCEPT_ENCODING, "identity");
}

/// Reads the body from send_body, once.
static void set_read_function(ccurl_transfer *transfer) {
    set_function(transfer, OPTION_READ_FUNCTION, (void (*)(void))send_body);
    set_pointer(transfer, OPTION_READ_DATA, transfer);
    set_function(transfer, OPTION_SEEK_FUNCTION, (void (*)(void))refuse_seek);
    set_pointer(transfer, OPTION_SEEK_DATA, transfer);
}

/// To libcurl, a request with a body is a POST unless another method is named.
static void set_has_body(ccurl_transfer *transfer, int64_t length) {
    set_number(transfer, OPTION_POST, 1);
    if (transfer->is_get) set_pointer(transfer, OPTION_CUSTOM_REQUEST, "GET");
    check(
        transfer, OPTION_POST_FIELD_SIZE,
        transfer->driver->library.easy_set(transfer->easy, OPTION_POST_FIELD_SIZE, length));
    if (transfer->driver->library.version >= VERSION_BEFORE_REQUEST) {
        set_function(transfer, OPTION_BEFORE_REQUEST_FUNCTION, (void (*)(void))before_request);
        set_pointer(transfer, OPTION_BEFORE_REQUEST_DATA, transfer);
    }
}

void ccurl_transfer_set_body(ccurl_transfer *transfer, const void *bytes, size_t count) {
    if (!append(&transfer->request_body, bytes, count)) {
        check(transfer, OPTION_READ_DATA, CCURL_OUT_OF_MEMORY);
        return;
    }
    set_has_body(transfer, (int64_t)count);
    if (transfer->driver->library.version >= VERSION_BEFORE_REQUEST) {
        set_pointer(transfer, OPTION_POST_FIELDS, count ? (const void *)transfer->request_body.bytes : "");
    } else {
        set_read_function(transfer);
    }
}

/// Without bytes, only the system notices that the other end is gone: with nine probes, after three minutes.
static void set_keep_alive(ccurl_transfer *transfer) {
    set_number(transfer, OPTION_TCP_KEEP_ALIVE, 1);
    set_number(transfer, OPTION_TCP_KEEP_IDLE, 60);
    set_number(transfer, OPTION_TCP_KEEP_INTERVAL, 15);
}

void ccurl_transfer_set_stream(ccurl_transfer *transfer, size_t window, long stall_seconds) {
    transfer->is_streamed = true;
    transfer->body_limit = window;
    set_number(transfer, OPTION_LOW_SPEED_LIMIT, 1);
    set_number(transfer, OPTION_LOW_SPEED_TIME, stall_seconds);
    set_keep_alive(transfer);
}

void ccurl_transfer_set_streamed_body(ccurl_transfer *transfer, int64_t length) {
    set_has_body(transfer, length);
    set_read_function(transfer);
}

void ccurl_transfer_set_times(ccurl_transfer *transfer, long total_ms, long connect_ms) {
    set_number(transfer, OPTION_TIMEOUT_MS, total_ms);
    set_number(transfer, OPTION_CONNECT_TIMEOUT_MS, connect_ms);
}

void ccurl_transfer_set_limits(ccurl_transfer *transfer, size_t head_bytes, size_t body_bytes) {
    transfer->head_limit = head_bytes;
    transfer->body_limit = body_bytes;
}

void ccurl_transfer_set_authorities(ccurl_transfer *transfer, const char *file, const char *directory) {
    if (file) set_pointer(transfer, OPTION_CA_FILE, file);
    if (directory) set_pointer(transfer, OPTION_CA_DIRECTORY, directory);
}

void ccurl_transfer_set_only_authorities(ccurl_transfer *transfer, const char *file) {
    set_pointer(transfer, OPTION_CA_FILE, file);
    // A TLS library that knows no directory has none to be forgotten.
    int code = transfer->driver->library.easy_set(transfer->easy, OPTION_CA_DIRECTORY, (char *)NULL);
    if (code != REFUSED_NOT_BUILT_IN) check(transfer, OPTION_CA_DIRECTORY, code);
}

int ccurl_transfer_start(ccurl_transfer *transfer) {
    set_protocols(transfer);
    set_pointer(transfer, OPTION_HTTP_HEADER, transfer->fields);
    if (transfer->refused_option) return transfer->refused_code;
    if (transfer->driver->library.multi_add(transfer->driver->multi, transfer->easy) != 0) return CCURL_OUT_OF_MEMORY;
    transfer->started = true;
    return CCURL_OK;
}

int ccurl_transfer_refused_option(const ccurl_transfer *transfer) { return transfer->refused_option; }

// MARK: Streams

bool ccurl_transfer_wants_body(const ccurl_transfer *transfer) {
    return transfer->sent == transfer->request_body.count;
}

bool ccurl_transfer_give_body(ccurl_transfer *transfer, const void *bytes, size_t count) {
    transfer->request_body.count = 0;
    transfer->sent = 0;
    return append(&transfer->request_body, bytes, count);
}

void ccurl_transfer_clear_body(ccurl_transfer *transfer) { transfer->body.count = 0; }

bool ccurl_transfer_resume(ccurl_transfer *transfer) {
    bool may_send = transfer->sending_paused && !ccurl_transfer_wants_body(transfer);
    bool may_receive = transfer->receiving_paused && transfer->body.count < transfer->body_limit;
    if (!may_send && !may_receive) return true;
    if (may_send) transfer->sending_paused = false;
    if (may_receive) transfer->receiving_paused = false;
    // The callbacks may run in here, and pause again.
    int paused = (transfer->sending_paused ? PAUSE_SENDING : 0) | (transfer->receiving_paused ? PAUSE_RECEIVING : 0);
    return transfer->driver->library.easy_pause(transfer->easy, paused) == CCURL_OK;
}

// MARK: Channels

int ccurl_channel_connect(ccurl_transfer *transfer) {
    set_protocols(transfer);
    set_number(transfer, OPTION_CONNECT_ONLY, 1);
    set_keep_alive(transfer);
    if (transfer->refused_option) return transfer->refused_code;
    return transfer->driver->library.easy_perform(transfer->easy);
}

int ccurl_channel_descriptor(const ccurl_transfer *transfer) {
    int descriptor = SOCKET_BAD;
    transfer->driver->library.easy_get(transfer->easy, INFO_ACTIVE_SOCKET, &descriptor);
    return descriptor;
}

int ccurl_channel_send(ccurl_transfer *transfer, const void *bytes, size_t count, size_t *sent) {
    return transfer->driver->library.easy_send(transfer->easy, bytes, count, sent);
}

int ccurl_channel_receive(ccurl_transfer *transfer, void *bytes, size_t count, size_t *received) {
    return transfer->driver->library.easy_receive(transfer->easy, bytes, count, received);
}

// MARK: Answer

bool ccurl_transfer_has_answer(const ccurl_transfer *transfer) {
    return transfer->head_complete && !transfer->head_is_informational;
}

const uint8_t *ccurl_transfer_head(const ccurl_transfer *transfer, size_t *count) {
    *count = transfer->head.count;
    return transfer->head.bytes;
}

const uint8_t *ccurl_transfer_body(const ccurl_transfer *transfer, size_t *count) {
    *count = transfer->body.count;
    return transfer->body.bytes;
}

bool ccurl_transfer_was_too_large(const ccurl_transfer *transfer) { return transfer->too_large; }

bool ccurl_transfer_was_sent(const ccurl_transfer *transfer) {
    long bytes = 0;
    // Who cannot tell may have sent it.
    if (transfer->driver->library.easy_get(transfer->easy, INFO_REQUEST_SIZE, &bytes) != CCURL_OK) return true;
    return bytes > 0;
}

long ccurl_transfer_tunnel_status(const ccurl_transfer *transfer) {
    long status = 0;
    transfer->driver->library.easy_get(transfer->easy, INFO_TUNNEL_STATUS, &status);
    return status;
}

const char *ccurl_transfer_reason(const ccurl_transfer *transfer, int code) {
    return transfer->reason[0] ? transfer->reason : transfer->driver->library.error_text(code);
}
