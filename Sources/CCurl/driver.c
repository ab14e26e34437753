// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#include "library.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <unistd.h>

// MARK: Loading

#define DLOPEN_NOTE \
    "[{\"feature\":\"http\",\"description\":\"Requests to the provider\",\"priority\":\"required\"," \
    "\"soname\":[\"libcurl.so.4\",\"libcurl-gnutls.so.4\"]}]"

/// Says in the program's file which library it loads when it is first needed: packaging tools read that.
/// https://systemd.io/ELF_DLOPEN_METADATA/
static const struct {
    uint32_t owner_size, text_size, type;
    char owner[4];
    char content[(sizeof DLOPEN_NOTE + 3) & ~(size_t)3];
} dlopen_note __attribute__((used, section(".note.dlopen"), aligned(4))) = {
    4, sizeof DLOPEN_NOTE, 0x407c0c0a, "FDO", DLOPEN_NOTE};

static bool find_functions(void *handle, struct curl_library *library) {
#define FIND(member, name) \
    *(void **)&library->member = dlsym(handle, name); \
    if (!library->member) return false
    FIND(global_init, "curl_global_init");
    FIND(version_info, "curl_version_info");
    FIND(error_text, "curl_easy_strerror");
    FIND(list_append, "curl_slist_append");
    FIND(list_free, "curl_slist_free_all");
    FIND(easy_init, "curl_easy_init");
    FIND(easy_cleanup, "curl_easy_cleanup");
    FIND(easy_set, "curl_easy_setopt");
    FIND(easy_get, "curl_easy_getinfo");
    FIND(easy_pause, "curl_easy_pause");
    FIND(easy_perform, "curl_easy_perform");
    FIND(easy_send, "curl_easy_send");
    FIND(easy_receive, "curl_easy_recv");
    FIND(multi_init, "curl_multi_init");
    FIND(multi_cleanup, "curl_multi_cleanup");
    FIND(multi_set, "curl_multi_setopt");
    FIND(multi_add, "curl_multi_add_handle");
    FIND(multi_remove, "curl_multi_remove_handle");
    FIND(multi_perform, "curl_multi_perform");
    FIND(multi_poll, "curl_multi_poll");
    FIND(multi_info_read, "curl_multi_info_read");
#undef FIND
    *(void **)&library->option_by_name = dlsym(handle, "curl_easy_option_by_name");
    return true;
}

static bool speaks_https(const struct curl_version_data *version) {
    if (!(version->features & FEATURE_SSL) || !version->protocols) return false;
    for (const char *const *name = version->protocols; *name; name++) {
        if (strcmp(*name, "https") == 0) return true;
    }
    return false;
}

/// Whether the library knows every option by our number. Some milliseconds are spent on loading it anyway, and a wrong
/// number would turn a rule off silently.
static bool agrees_on_options(const struct curl_library *library) {
    static const struct {
        const char *name;
        int number;
    } options[] = {
#define ROW(name, text, number) {text, number},
        CCURL_OPTIONS(ROW)
#undef ROW
    };
    if (!library->option_by_name) return true; // older than 7.73
    for (size_t index = 0; index < sizeof options / sizeof *options; index++) {
        if (options[index].number == OPTION_PROTOCOLS_STRING && library->version < VERSION_PROTOCOLS_STRING) continue;
        if (options[index].number == OPTION_QUICK_EXIT && library->version < VERSION_QUICK_EXIT) continue;
        bool is_before_request = options[index].number == OPTION_BEFORE_REQUEST_FUNCTION ||
            options[index].number == OPTION_BEFORE_REQUEST_DATA;
        if (is_before_request && library->version < VERSION_BEFORE_REQUEST) continue;
        const struct curl_option_data *known = library->option_by_name(options[index].name);
        if (!known || known->number != options[index].number) return false;
    }
    return true;
}

/// Keeps OpenSSL from taking itself down when the program exits: a transfer may still run in a thread, and would crash
/// the program in its last moment. Nothing is lost by it, since the kernel takes all back. Other TLS libraries have no
/// such function, and no such clean-up that hurts.
static void leave_tls_alone_at_exit(void *handle) {
    int (*init)(uint64_t, const void *) = NULL;
    *(void **)&init = dlsym(handle, "OPENSSL_init_crypto"); // of a library that libcurl brought along
    if (init) init(OPENSSL_INIT_NO_ATEXIT, NULL);
}

static ccurl_readiness load(const char *name, ccurl_driver *driver) {
    struct curl_library *library = &driver->library;
    // Never unloaded: TLS libraries leave exit handlers and thread-local data behind.
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        const char *reason = dlerror();
        if (reason && !driver->reason[0]) snprintf(driver->reason, sizeof driver->reason, "%s", reason);
        return CCURL_UNLOADABLE;
    }
    memset(library, 0, sizeof *library);
    if (!find_functions(handle, library)) return CCURL_UNSUITABLE;
    const struct curl_version_data *version = library->version_info(0);
    if (!version || version->number < VERSION_POLL || !speaks_https(version)) return CCURL_UNSUITABLE;
    library->version = version->number;
    if (!agrees_on_options(library)) return CCURL_UNSUITABLE;

    // curl_global_init counts its calls, but is safe from several threads only since 7.84.
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&guard);
    leave_tls_alone_at_exit(handle);
    // libcurl would write the keys of every connection to a file that the caller names.
    if (getauxval(AT_SECURE) != 0) unsetenv("SSLKEYLOGFILE");
    int status = library->global_init(GLOBAL_SSL);
    pthread_mutex_unlock(&guard);
    return status == CCURL_OK ? CCURL_READY : CCURL_EXHAUSTED;
}

// MARK: Driver

ccurl_driver *ccurl_driver_new(void) {
    ccurl_driver *driver = calloc(1, sizeof *driver);
    if (!driver) return NULL;
    driver->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (driver->wake_descriptor < 0) {
        free(driver);
        return NULL;
    }
    return driver;
}

void ccurl_driver_free(ccurl_driver *driver) {
    close(driver->wake_descriptor);
    free(driver);
}

void ccurl_driver_wake(ccurl_driver *driver) {
    uint64_t one = 1;
    // Fails only when the counter is full, and then the driver is awake anyway.
    ssize_t written = write(driver->wake_descriptor, &one, sizeof one);
    (void)written;
}

ccurl_readiness ccurl_driver_open(ccurl_driver *driver, const char *name, const char *other_name, unsigned newest_version) {
    ccurl_readiness first = load(name, driver);
    if (first != CCURL_READY) {
        ccurl_readiness second = load(other_name, driver);
        if (second == CCURL_UNLOADABLE) return first;
        if (second != CCURL_READY) return second;
    }
    if (driver->library.version > newest_version) driver->library.version = newest_version;
    driver->multi = driver->library.multi_init();
    if (!driver->multi) return CCURL_EXHAUSTED;
    // Idle connections that are kept; without it libcurl keeps four for every transfer there ever was at a time.
    driver->library.multi_set(driver->multi, MULTI_MAXIMUM_CONNECTIONS, 8L);
    return CCURL_READY;
}

void ccurl_driver_close(ccurl_driver *driver) {
    if (driver->multi) driver->library.multi_cleanup(driver->multi);
    driver->multi = NULL;
}

const char *ccurl_driver_reason(const ccurl_driver *driver) { return driver->reason; }

unsigned ccurl_driver_version(const ccurl_driver *driver) { return driver->library.version; }

bool ccurl_driver_abandons_resolver(const ccurl_driver *driver) {
    return driver->library.version >= VERSION_QUICK_EXIT;
}

int ccurl_driver_perform(ccurl_driver *driver) {
    int running = 0;
    return driver->library.multi_perform(driver->multi, &running);
}

int ccurl_driver_wait(ccurl_driver *driver, int milliseconds) {
    struct curl_wait_descriptor wake = {driver->wake_descriptor, POLLIN, 0};
    int ready = 0;
    int status = driver->library.multi_poll(driver->multi, &wake, 1, milliseconds, &ready);
    if (wake.found) {
        uint64_t count;
        ssize_t taken = read(driver->wake_descriptor, &count, sizeof count);
        (void)taken;
    }
    return status;
}

ccurl_transfer *ccurl_driver_next_finished(ccurl_driver *driver, int *code) {
    struct curl_message *message;
    int left = 0;
    while ((message = driver->library.multi_info_read(driver->multi, &left))) {
        if (message->kind != MESSAGE_DONE) continue;
        *code = message->data.code;
        void *transfer = NULL;
        driver->library.easy_get(message->easy, INFO_PRIVATE, &transfer);
        return transfer;
    }
    return NULL;
}
