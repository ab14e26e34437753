// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#include "library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define DLOPEN_NOTE \
    "[{\"feature\":\"postgresql\",\"description\":\"Tokens in PostgreSQL\",\"priority\":\"required\"," \
    "\"soname\":[\"libpq.so.5\"]}]"

/// Says in the program's file which library it loads when it is first needed: packaging tools read that.
/// https://systemd.io/ELF_DLOPEN_METADATA/
static const struct {
    uint32_t owner_size, text_size, type;
    char owner[4];
    char content[(sizeof DLOPEN_NOTE + 3) & ~(size_t)3];
} dlopen_note __attribute__((used, section(".note.dlopen"), aligned(4))) = {
    4, sizeof DLOPEN_NOTE, 0x407c0c0a, "FDO", DLOPEN_NOTE};

static struct {
#define CPOSTGRESQL_FIELD(field, symbol, result, parameters) result(*field) parameters;
    CPOSTGRESQL_FUNCTIONS(CPOSTGRESQL_FIELD)
#undef CPOSTGRESQL_FIELD
} pq;

static const char *find_functions(void *handle) {
#define CPOSTGRESQL_FIND(field, symbol, result, parameters) \
    *(void **)&pq.field = dlsym(handle, #symbol); \
    if (!pq.field) return "it lacks " #symbol;
    CPOSTGRESQL_FUNCTIONS(CPOSTGRESQL_FIND)
#undef CPOSTGRESQL_FIND
    return NULL;
}

/// A thread may still connect when the program ends, and must not lose OpenSSL under its feet.
static void leave_tls_alone_at_exit(void *handle) {
    int (*init)(uint64_t, const void *) = NULL;
    *(void **)&init = dlsym(handle, "OPENSSL_init_crypto"); // of a library that libpq brought along
    if (init) init(0x00080000, NULL); // OPENSSL_INIT_NO_ATEXIT
}

bool cpostgresql_load(const char *library, const char **reason) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static bool is_ready;
    pthread_mutex_lock(&guard);
    if (!is_ready) {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle) leave_tls_alone_at_exit(handle);
        *reason = handle ? find_functions(handle) : dlerror();
        is_ready = handle && !*reason;
    }
    pthread_mutex_unlock(&guard);
    return is_ready;
}

int cpostgresql_version(void) { return pq.version(); }

static void tell(struct pq_option *options, cpostgresql_found *found, void *data) {
    for (struct pq_option *option = options; option && option->keyword; option++) {
        if (option->value) found(data, option->keyword, option->value);
    }
    pq.free_options(options);
}

bool cpostgresql_given(const char *string, cpostgresql_found *found, void *data, char **reason) {
    struct pq_option *options = pq.parse(string, reason);
    tell(options, found, data);
    return options;
}

void cpostgresql_whole(const char *string, cpostgresql_found *found, void *data) {
    // libpq reads variables and the service file for a connection alone. No server is asked: one of this kind does not exist.
    static const char *const keywords[] = {"dbname", "target_session_attrs", NULL};
    const char *const values[] = {string, "none", NULL};
    void *connection = pq.start(keywords, values, 1);
    if (connection) tell(pq.info(connection), found, data);
    pq.finish(connection);
}

void cpostgresql_free_text(char *text) { pq.free(text); }

// MARK: Connections

struct cpostgresql_connection {
    void *connection;
    unsigned warnings;
    bool is_heard;
};

/// Counts warnings, and keeps libpq from printing notices. A server that ends says so with a warning of another class, and one
/// whose queue of notifications fills up has done the statement.
static void receive_notice(void *data, const struct pg_result *notice) {
    const char *severity = pq.error_field(notice, PQ_FIELD_SEVERITY), *state = pq.error_field(notice, PQ_FIELD_SQLSTATE);
    const char *function = pq.error_field(notice, PQ_FIELD_FUNCTION);
    if (severity && strcmp(severity, "WARNING") == 0 && state && strncmp(state, "01", 2) == 0 &&
        !(function && strcmp(function, "asyncQueueFillWarning") == 0)) {
        ((cpostgresql_connection *)data)->warnings++;
    }
}

cpostgresql_connection *cpostgresql_start(char *const *keywords, char *const *values) {
    cpostgresql_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return NULL;
    connection->connection = pq.start((const char *const *)keywords, (const char *const *)values, 1);
    if (!connection->connection) {
        free(connection);
        return NULL;
    }
    pq.set_receiver(connection->connection, receive_notice, connection);
    // A server's own words may be in any language, of any length, and may repeat values.
    pq.set_verbosity(connection->connection, PQ_VERBOSITY_SQLSTATE);
    return connection;
}

cpostgresql_step cpostgresql_poll(cpostgresql_connection *connection) {
    int waiting = 0;
    connection->is_heard = ioctl(pq.socket(connection->connection), FIONREAD, &waiting) == 0 && waiting > 0;
    int step = pq.poll(connection->connection);
    if (step == CPOSTGRESQL_OPEN && pq.set_nonblocking(connection->connection, 1) != 0) return CPOSTGRESQL_FAILED;
    return step > CPOSTGRESQL_OPEN ? CPOSTGRESQL_FAILED : (cpostgresql_step)step;
}

void cpostgresql_close(cpostgresql_connection *connection) {
    pq.finish(connection->connection);
    free(connection);
}

bool cpostgresql_is_good(cpostgresql_connection *connection) {
    return pq.status(connection->connection) != PQ_CONNECTION_BAD;
}

int cpostgresql_socket(cpostgresql_connection *connection) { return pq.socket(connection->connection); }

const char *cpostgresql_message(cpostgresql_connection *connection) { return pq.message(connection->connection); }

const char *cpostgresql_user(cpostgresql_connection *connection) {
    const char *user = pq.user(connection->connection);
    return user ? user : "";
}

const char *cpostgresql_database(cpostgresql_connection *connection) {
    const char *database = pq.database(connection->connection);
    return database ? database : "";
}

int cpostgresql_process(cpostgresql_connection *connection) { return pq.process(connection->connection); }

bool cpostgresql_is_mistrusted(cpostgresql_connection *connection) {
    // Its version is among what a server tells whoever it has let in.
    return connection->is_heard && !pq.parameter(connection->connection, "server_version");
}

bool cpostgresql_lacks_password(cpostgresql_connection *connection) {
    return pq.lacks_password(connection->connection) == 1;
}

unsigned cpostgresql_warnings(cpostgresql_connection *connection) { return connection->warnings; }

// MARK: Statements

bool cpostgresql_send(cpostgresql_connection *connection, const char *statement, int count, const unsigned *types,
                      const uint8_t *const *values, const int *lengths) {
    enum { MAXIMUM = 8 };
    static const int formats[MAXIMUM] = {1, 1, 1, 1, 1, 1, 1, 1};
    return count <= MAXIMUM &&
           pq.send(connection->connection, statement, count, types, (const char *const *)values, lengths, formats, 1) == 1;
}

int cpostgresql_flush(cpostgresql_connection *connection) { return pq.flush(connection->connection); }

bool cpostgresql_consume(cpostgresql_connection *connection, size_t *received) {
    int waiting = 0;
    if (ioctl(pq.socket(connection->connection), FIONREAD, &waiting) == 0 && waiting > 0) *received += (size_t)waiting;
    return pq.consume(connection->connection) == 1;
}

bool cpostgresql_is_busy(cpostgresql_connection *connection) { return pq.is_busy(connection->connection) != 0; }

cpostgresql_result *cpostgresql_next(cpostgresql_connection *connection) { return pq.next(connection->connection); }

int cpostgresql_kind_of(const cpostgresql_result *result) { return pq.result_status(result); }

const char *cpostgresql_sqlstate(const cpostgresql_result *result) {
    return pq.error_field(result, PQ_FIELD_SQLSTATE);
}

int cpostgresql_row_count(const cpostgresql_result *result) { return pq.rows(result); }

int cpostgresql_column_count(const cpostgresql_result *result) { return pq.columns(result); }

const uint8_t *cpostgresql_value(const cpostgresql_result *result, int row, int column, size_t *count) {
    if (pq.is_null(result, row, column)) return NULL;
    int length = pq.length(result, row, column);
    *count = length > 0 ? (size_t)length : 0;
    return (const uint8_t *)pq.value(result, row, column);
}

void cpostgresql_free(cpostgresql_result *result) { pq.clear(result); }

bool cpostgresql_notification(cpostgresql_connection *connection,
                              void (*received)(void *data, const char *channel, const char *text), void *data) {
    struct pq_notification *notification = pq.notifies(connection->connection);
    if (!notification) return false;
    received(data, notification->channel, notification->text);
    pq.free(notification);
    return true;
}
