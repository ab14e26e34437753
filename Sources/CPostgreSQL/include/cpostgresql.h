// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Connections to PostgreSQL by libpq, which is loaded with dlopen: no header of libpq is read, nothing is linked.
//
// Load first. No function waits for the server, except that cpostgresql_start and cpostgresql_poll look names up. One thread
// at a time uses a connection and its results.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cpostgresql_connection cpostgresql_connection;
typedef struct pg_result cpostgresql_result;

/// Loads libpq, once. If it cannot be used, `reason` becomes why, valid until this thread loads again.
bool cpostgresql_load(const char *library, const char **reason);

/// Returns libpq's version: 160004 for 16.4.
int cpostgresql_version(void);

typedef void cpostgresql_found(void *data, const char *keyword, const char *value);

/// Calls `found` with each parameter that a connection string has. Returns false if the string is malformed; then `reason`
/// becomes libpq's words, which may repeat secrets, or NULL. The caller frees them with cpostgresql_free_text.
bool cpostgresql_given(const char *string, cpostgresql_found *found, void *data, char **reason);
/// The same for the parameters that a connection would have by the string, the variables and the service file. There are none
/// if libpq cannot read these.
void cpostgresql_whole(const char *string, cpostgresql_found *found, void *data);
void cpostgresql_free_text(char *text);

/// What a connection that is being opened waits for.
typedef enum {
    CPOSTGRESQL_FAILED = 0,
    CPOSTGRESQL_READING = 1,
    CPOSTGRESQL_WRITING = 2,
    CPOSTGRESQL_OPEN = 3,
} cpostgresql_step;

/// Begins to connect, with parameters of which `dbname` may be a connection string; NULL without memory. Both lists end with
/// NULL. Then wait until the socket is writable, and call cpostgresql_poll until it is open or failed.
cpostgresql_connection *cpostgresql_start(char *const *keywords, char *const *values);
cpostgresql_step cpostgresql_poll(cpostgresql_connection *connection);
/// Closes the connection and frees it.
void cpostgresql_close(cpostgresql_connection *connection);

/// Whether the connection is neither closed nor failed, as far as is known.
bool cpostgresql_is_good(cpostgresql_connection *connection);
/// Returns the socket, which may be another after each cpostgresql_poll; -1 if there is none.
int cpostgresql_socket(cpostgresql_connection *connection);
/// Returns what libpq says about the last failure. Of a server's error it has the SQLSTATE alone.
const char *cpostgresql_message(cpostgresql_connection *connection);
const char *cpostgresql_user(cpostgresql_connection *connection);
const char *cpostgresql_database(cpostgresql_connection *connection);
/// Returns the number of the server's process that was told when the connection was made.
int cpostgresql_process(cpostgresql_connection *connection);
/// Whether the last cpostgresql_poll failed over what the server said before it let the program in: its certificate, that it
/// has no TLS, or another protocol.
bool cpostgresql_is_mistrusted(cpostgresql_connection *connection);
/// Whether the server asked for a password, and there was none.
bool cpostgresql_lacks_password(cpostgresql_connection *connection);
/// Returns the number of warnings (of the SQLSTATE class 01, but for a full queue of notifications) that the server has sent on
/// this connection.
unsigned cpostgresql_warnings(cpostgresql_connection *connection);

/// Sends a statement with parameters, all of them binary; a NULL among `values` is an SQL null. Returns false if it was not
/// even begun.
bool cpostgresql_send(cpostgresql_connection *connection, const char *statement, int count, const unsigned *types,
                      const uint8_t *const *values, const int *lengths);
/// Writes what waits to be sent. Returns 0 if all is sent, 1 if more waits, and -1 if the connection is lost.
int cpostgresql_flush(cpostgresql_connection *connection);
/// Reads what has arrived, and adds its size to `received`. Returns false if the connection is lost.
bool cpostgresql_consume(cpostgresql_connection *connection, size_t *received);
/// Whether cpostgresql_next would have to wait.
bool cpostgresql_is_busy(cpostgresql_connection *connection);
/// Returns the next result of the statement, which the caller frees; NULL if there is none.
cpostgresql_result *cpostgresql_next(cpostgresql_connection *connection);

typedef enum {
    CPOSTGRESQL_COMMAND = 1,
    CPOSTGRESQL_ROWS = 2,
    CPOSTGRESQL_ERROR = 7,
} cpostgresql_kind;

/// Returns a cpostgresql_kind, or another number for what no statement of ours causes.
int cpostgresql_kind_of(const cpostgresql_result *result);
/// Returns an error's SQLSTATE, or NULL if the error is libpq's own.
const char *cpostgresql_sqlstate(const cpostgresql_result *result);
int cpostgresql_row_count(const cpostgresql_result *result);
int cpostgresql_column_count(const cpostgresql_result *result);
/// Returns a value, which is valid as long as the result; NULL for an SQL null.
const uint8_t *cpostgresql_value(const cpostgresql_result *result, int row, int column, size_t *count);
void cpostgresql_free(cpostgresql_result *result);

/// Takes the next notification that has arrived. Calls `received` with its channel and text, and returns true; false if
/// there is none.
bool cpostgresql_notification(cpostgresql_connection *connection,
                              void (*received)(void *data, const char *channel, const char *text), void *data);
