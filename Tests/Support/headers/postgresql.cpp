// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Compares the declarations that CPostgreSQL repeats from libpq with libpq's own header at compile time: Scripts/check-headers.
#include <libpq-fe.h>

#include "library.h"
#include "same.hpp"

CPOSTGRESQL_FUNCTIONS(CHECK)

CHECK_LAYOUT(pq_option, PQconninfoOption)
CHECK_FIELD(pq_option, keyword, PQconninfoOption, keyword)
CHECK_FIELD(pq_option, value, PQconninfoOption, val)
CHECK_FIELD(pq_option, size, PQconninfoOption, dispsize)
CHECK_LAYOUT(pq_notification, PGnotify)
CHECK_FIELD(pq_notification, channel, PGnotify, relname)
CHECK_FIELD(pq_notification, process, PGnotify, be_pid)
CHECK_FIELD(pq_notification, text, PGnotify, extra)

CHECK_NUMBER(CPOSTGRESQL_FAILED, PGRES_POLLING_FAILED)
CHECK_NUMBER(CPOSTGRESQL_READING, PGRES_POLLING_READING)
CHECK_NUMBER(CPOSTGRESQL_WRITING, PGRES_POLLING_WRITING)
CHECK_NUMBER(CPOSTGRESQL_OPEN, PGRES_POLLING_OK)
CHECK_NUMBER(CPOSTGRESQL_COMMAND, PGRES_COMMAND_OK)
CHECK_NUMBER(CPOSTGRESQL_ROWS, PGRES_TUPLES_OK)
CHECK_NUMBER(CPOSTGRESQL_ERROR, PGRES_FATAL_ERROR)
CHECK_NUMBER(PQ_CONNECTION_BAD, CONNECTION_BAD)
CHECK_NUMBER(PQ_VERBOSITY_SQLSTATE, PQERRORS_SQLSTATE)
CHECK_NUMBER(PQ_FIELD_SEVERITY, PG_DIAG_SEVERITY_NONLOCALIZED)
CHECK_NUMBER(PQ_FIELD_SQLSTATE, PG_DIAG_SQLSTATE)
CHECK_NUMBER(PQ_FIELD_FUNCTION, PG_DIAG_SOURCE_FUNCTION)
