// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The functions of libcurl that are used, and its constants, which are part of its ABI and never change.
#pragma once

#include "ccurl.h"

/// Options of an easy handle: X(our name, libcurl's name, number). The ten thousands say the type:
/// 0 long, 1 pointer or string, 2 function, 3 curl_off_t (64 bits).
#define CCURL_OPTIONS(X) \
    X(WRITE_DATA, "WRITEDATA", 10001) \
    X(URL, "URL", 10002) \
    X(PROXY, "PROXY", 10004) \
    X(READ_DATA, "READDATA", 10009) \
    X(POST_FIELDS, "POSTFIELDS", 10015) \
    X(ERROR_BUFFER, "ERRORBUFFER", 10010) \
    X(WRITE_FUNCTION, "WRITEFUNCTION", 20011) \
    X(READ_FUNCTION, "READFUNCTION", 20012) \
    X(HTTP_HEADER, "HTTPHEADER", 10023) \
    X(HEADER_DATA, "HEADERDATA", 10029) \
    X(LOW_SPEED_LIMIT, "LOW_SPEED_LIMIT", 19) \
    X(LOW_SPEED_TIME, "LOW_SPEED_TIME", 20) \
    X(SSL_VERSION, "SSLVERSION", 32) \
    X(CUSTOM_REQUEST, "CUSTOMREQUEST", 10036) \
    X(NO_PROGRESS, "NOPROGRESS", 43) \
    X(NO_BODY, "NOBODY", 44) \
    X(POST, "POST", 47) \
    X(NETRC, "NETRC", 51) \
    X(FOLLOW_LOCATION, "FOLLOWLOCATION", 52) \
    X(SSL_VERIFY_PEER, "SSL_VERIFYPEER", 64) \
    X(CA_FILE, "CAINFO", 10065) \
    X(HEADER_FUNCTION, "HEADERFUNCTION", 20079) \
    X(SSL_VERIFY_HOST, "SSL_VERIFYHOST", 81) \
    X(HTTP_VERSION, "HTTP_VERSION", 84) \
    X(CA_DIRECTORY, "CAPATH", 10097) \
    X(NO_SIGNAL, "NOSIGNAL", 99) \
    X(ACCEPT_ENCODING, "ACCEPT_ENCODING", 10102) \
    X(PRIVATE, "PRIVATE", 10103) \
    X(CONNECT_ONLY, "CONNECT_ONLY", 141) \
    X(POST_FIELD_SIZE, "POSTFIELDSIZE_LARGE", 30120) \
    X(TCP_NO_DELAY, "TCP_NODELAY", 121) \
    X(TIMEOUT_MS, "TIMEOUT_MS", 155) \
    X(CONNECT_TIMEOUT_MS, "CONNECTTIMEOUT_MS", 156) \
    X(OPEN_SOCKET_FUNCTION, "OPENSOCKETFUNCTION", 20163) \
    X(TCP_KEEP_ALIVE, "TCP_KEEPALIVE", 213) \
    X(TCP_KEEP_IDLE, "TCP_KEEPIDLE", 214) \
    X(TCP_KEEP_INTERVAL, "TCP_KEEPINTVL", 215) \
    X(SEEK_FUNCTION, "SEEKFUNCTION", 20167) \
    X(SEEK_DATA, "SEEKDATA", 10168) \
    X(NO_PROXY, "NOPROXY", 10177) \
    X(PROTOCOLS, "PROTOCOLS", 181) \
    X(PATH_AS_IS, "PATH_AS_IS", 234) \
    X(SUPPRESS_CONNECT_HEADERS, "SUPPRESS_CONNECT_HEADERS", 265) \
    X(HTTP09_ALLOWED, "HTTP09_ALLOWED", 285) \
    X(BEFORE_REQUEST_FUNCTION, "PREREQFUNCTION", 20312) \
    X(BEFORE_REQUEST_DATA, "PREREQDATA", 10313) \
    X(PROTOCOLS_STRING, "PROTOCOLS_STR", 10318) \
    X(QUICK_EXIT, "QUICK_EXIT", 322)

#define CCURL_OPTION_CASE(name, text, number) OPTION_##name = number,
enum { CCURL_OPTIONS(CCURL_OPTION_CASE) };
#undef CCURL_OPTION_CASE

/// OpenSSL's flag since 1.1.1b; part of its ABI.
#define OPENSSL_INIT_NO_ATEXIT UINT64_C(0x00080000)

enum {
    HTTP_1_1 = 2,
    TLS_1_2 = 6,
    PROTOCOL_BIT_HTTP = 1 << 0,
    PROTOCOL_BIT_HTTPS = 1 << 1,
    SEEK_REFUSED = 1,
    REQUEST_ABORTED = 1,
    CALLBACK_PAUSE = 0x10000001,
    PAUSE_RECEIVING = 1 << 0,
    PAUSE_SENDING = 1 << 2,
    SOCKET_BAD = -1,
    INFO_PRIVATE = 0x100000 + 21,
    INFO_REQUEST_SIZE = 0x200000 + 12,
    INFO_TUNNEL_STATUS = 0x200000 + 22,
    INFO_ACTIVE_SOCKET = 0x500000 + 44,
    MULTI_MAXIMUM_CONNECTIONS = 6,
    MESSAGE_DONE = 1,
    GLOBAL_SSL = 1 << 0,
    FEATURE_SSL = 1 << 2,
    ERROR_BUFFER_SIZE = 256,
    REFUSED_NOT_BUILT_IN = 4,
    VERSION_POLL = 0x074200,           // 7.66.0: curl_multi_poll
    VERSION_BEFORE_REQUEST = 0x075000,   // 7.80.0
    VERSION_PROTOCOLS_STRING = 0x075500, // 7.85.0
    VERSION_QUICK_EXIT = 0x075700,     // 7.87.0
};

/// struct CURLMsg
struct curl_message {
    int kind;
    void *easy;
    union {
        void *any;
        int code;
    } data;
};

/// struct curl_waitfd
struct curl_wait_descriptor {
    int descriptor;
    short events;
    short found;
};

/// struct curl_sockaddr; the address continues behind it.
struct curl_socket_address {
    int family;
    int type;
    int protocol;
    unsigned length;
};

/// The head of curl_version_info_data, as of its first age.
struct curl_version_data {
    int age;
    const char *version;
    unsigned number;
    const char *host;
    int features;
    const char *ssl_version;
    long ssl_version_number;
    const char *libz_version;
    const char *const *protocols;
};

/// The head of curl_easyoption.
struct curl_option_data {
    const char *name;
    int number;
};

struct curl_library {
    int (*global_init)(long flags);
    struct curl_version_data *(*version_info)(int age);
    const struct curl_option_data *(*option_by_name)(const char *name); // 7.73, else NULL
    const char *(*error_text)(int code);
    void *(*list_append)(void *list, const char *text);
    void (*list_free)(void *list);
    void *(*easy_init)(void);
    void (*easy_cleanup)(void *easy);
    int (*easy_set)(void *easy, int option, ...);
    int (*easy_get)(void *easy, int info, ...);
    int (*easy_pause)(void *easy, int what);
    int (*easy_perform)(void *easy);
    int (*easy_send)(void *easy, const void *bytes, size_t count, size_t *sent);
    int (*easy_receive)(void *easy, void *bytes, size_t count, size_t *received);
    void *(*multi_init)(void);
    int (*multi_cleanup)(void *multi);
    int (*multi_set)(void *multi, int option, ...);
    int (*multi_add)(void *multi, void *easy);
    int (*multi_remove)(void *multi, void *easy);
    int (*multi_perform)(void *multi, int *running);
    int (*multi_poll)(void *multi, struct curl_wait_descriptor *extra, unsigned count, int milliseconds, int *ready);
    struct curl_message *(*multi_info_read)(void *multi, int *left);
    unsigned version;
};

struct ccurl_driver {
    struct curl_library library;
    void *multi;
    int wake_descriptor;
    char reason[201];
};
