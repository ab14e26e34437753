// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// The used functions of libpq, declared by hand. Scripts/check-headers compares them with libpq's own header.
#pragma once

#include "cpostgresql.h"

/// PQconninfoOption
struct pq_option {
    char *keyword;
    char *variable;
    char *compiled;
    char *value;
    char *label;
    char *display;
    int size;
};

/// PGnotify
struct pq_notification {
    char *channel;
    int process;
    char *text;
    struct pq_notification *next;
};

enum {
    PQ_CONNECTION_BAD = 1,
    PQ_VERBOSITY_SQLSTATE = 3,
    PQ_FIELD_SEVERITY = 'V',
    PQ_FIELD_SQLSTATE = 'C',
    PQ_FIELD_FUNCTION = 'R',
};

typedef void (*pq_receiver)(void *data, const struct pg_result *result);

// X(field, symbol, result, parameters)
#define CPOSTGRESQL_FUNCTIONS(X) \
    X(parse, PQconninfoParse, struct pq_option *, (const char *, char **)) \
    X(info, PQconninfo, struct pq_option *, (void *)) \
    X(free_options, PQconninfoFree, void, (struct pq_option *)) \
    X(version, PQlibVersion, int, (void)) \
    X(start, PQconnectStartParams, void *, (const char *const *, const char *const *, int)) \
    X(poll, PQconnectPoll, int, (void *)) \
    X(finish, PQfinish, void, (void *)) \
    X(status, PQstatus, int, (const void *)) \
    X(socket, PQsocket, int, (const void *)) \
    X(message, PQerrorMessage, char *, (const void *)) \
    X(lacks_password, PQconnectionNeedsPassword, int, (const void *)) \
    X(user, PQuser, char *, (const void *)) \
    X(database, PQdb, char *, (const void *)) \
    X(process, PQbackendPID, int, (const void *)) \
    X(parameter, PQparameterStatus, const char *, (const void *, const char *)) \
    X(set_verbosity, PQsetErrorVerbosity, int, (void *, int)) \
    X(set_receiver, PQsetNoticeReceiver, pq_receiver, (void *, pq_receiver, void *)) \
    X(set_nonblocking, PQsetnonblocking, int, (void *, int)) \
    X(send, PQsendQueryParams, int, (void *, const char *, int, const unsigned *, const char *const *, const int *, \
                                     const int *, int)) \
    X(flush, PQflush, int, (void *)) \
    X(consume, PQconsumeInput, int, (void *)) \
    X(is_busy, PQisBusy, int, (void *)) \
    X(next, PQgetResult, struct pg_result *, (void *)) \
    X(result_status, PQresultStatus, int, (const struct pg_result *)) \
    X(error_field, PQresultErrorField, char *, (const struct pg_result *, int)) \
    X(rows, PQntuples, int, (const struct pg_result *)) \
    X(columns, PQnfields, int, (const struct pg_result *)) \
    X(is_null, PQgetisnull, int, (const struct pg_result *, int, int)) \
    X(length, PQgetlength, int, (const struct pg_result *, int, int)) \
    X(value, PQgetvalue, char *, (const struct pg_result *, int, int)) \
    X(clear, PQclear, void, (struct pg_result *)) \
    X(notifies, PQnotifies, struct pq_notification *, (void *)) \
    X(free, PQfreemem, void, (void *))
