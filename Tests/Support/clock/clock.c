// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
//
// Clocks that a test can step, for the programs into which LD_PRELOAD brings this: CC -shared -fPIC -o clock.so clock.c
//
// IDENTITY_TEST_CLOCK names a file of three 64-bit numbers: nanoseconds that the real time, the monotonic clock and the boot
// clock are ahead. A test writes them while the programs run or stand still. Timers with an absolute time that are armed when
// a clock steps fire when the stepped clock reaches their time, as the kernel's do. CLOCK_MONOTONIC_RAW is left alone: tests
// measure with it. Relative waits of system calls go on as they are.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { REAL, MONOTONIC, BOOT, CLOCKS, TIMERS = 1024 };
static const int64_t second = 1000000000;

static _Atomic int64_t still[CLOCKS];
static _Atomic int64_t *ahead = still;
static struct { int clock, flags, isArmed; struct itimerspec time; } timers[TIMERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define NEXT(name) ({ \
    static __typeof__(&name) next; \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
    next; \
})

static int64_t stepOf(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME: case CLOCK_REALTIME_COARSE: case CLOCK_REALTIME_ALARM: return ahead[REAL];
    case CLOCK_MONOTONIC: case CLOCK_MONOTONIC_COARSE: return ahead[MONOTONIC];
    case CLOCK_BOOTTIME: case CLOCK_BOOTTIME_ALARM: return ahead[BOOT];
    default: return 0;
    }
}

static struct timespec plus(struct timespec time, int64_t step) {
    int64_t sum = time.tv_sec * second + time.tv_nsec + step;
    if (sum < 1) sum = 1;  // Zero would disarm a timer.
    return (struct timespec){sum / second, sum % second};
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failure = NEXT(clock_gettime)(clock, time);
    if (failure == 0) *time = plus(*time, stepOf(clock));
    return failure;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    int failure = NEXT(gettimeofday)(time, zone);
    if (failure == 0) {
        struct timespec now = plus((struct timespec){time->tv_sec, time->tv_usec * 1000}, ahead[REAL]);
        *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    }
    return failure;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *rest) {
    if (!(flags & TIMER_ABSTIME)) return NEXT(clock_nanosleep)(clock, flags, wanted, rest);
    struct timespec now;
    do {  // In short pieces, so that a step is noticed.
        clock_gettime(clock, &now);
        int64_t left = (wanted->tv_sec - now.tv_sec) * second + wanted->tv_nsec - now.tv_nsec;
        if (left <= 0) return 0;
        struct timespec piece = plus((struct timespec){0}, left < 5000000 ? left : 5000000);
        int failure = NEXT(clock_nanosleep)(CLOCK_MONOTONIC, 0, &piece, NULL);
        if (failure) return failure;
    } while (1);
}

int timerfd_create(int clock, int flags) {
    int timer = NEXT(timerfd_create)(clock, flags);
    if (timer >= 0 && timer < TIMERS) {
        pthread_mutex_lock(&lock);
        timers[timer].clock = clock;
        timers[timer].isArmed = 0;
        pthread_mutex_unlock(&lock);
    }
    return timer;
}

static int arm(int timer, struct itimerspec *old) {
    struct itimerspec wanted = timers[timer].time;
    wanted.it_value = plus(wanted.it_value, -stepOf(timers[timer].clock));
    return NEXT(timerfd_settime)(timer, timers[timer].flags, &wanted, old);
}

int timerfd_settime(int timer, int flags, const struct itimerspec *wanted, struct itimerspec *old) {
    int isAbsolute = flags & TFD_TIMER_ABSTIME && (wanted->it_value.tv_sec || wanted->it_value.tv_nsec);
    if (timer < 0 || timer >= TIMERS) return NEXT(timerfd_settime)(timer, flags, wanted, old);
    pthread_mutex_lock(&lock);
    timers[timer].isArmed = isAbsolute;
    timers[timer].time = *wanted;
    timers[timer].flags = flags & ~TFD_TIMER_CANCEL_ON_SET;
    int failure = isAbsolute ? arm(timer, old) : NEXT(timerfd_settime)(timer, flags, wanted, old);
    pthread_mutex_unlock(&lock);
    return failure;
}

int close(int descriptor) {
    if (descriptor >= 0 && descriptor < TIMERS && timers[descriptor].isArmed) {
        pthread_mutex_lock(&lock);
        timers[descriptor].isArmed = 0;
        pthread_mutex_unlock(&lock);
    }
    return NEXT(close)(descriptor);
}

static void *watch(void *unused) {
    int64_t seen[CLOCKS] = {ahead[REAL], ahead[MONOTONIC], ahead[BOOT]};
    while (1) {
        struct timespec pause = {0, 5000000};
        NEXT(clock_nanosleep)(CLOCK_MONOTONIC, 0, &pause, NULL);
        int isStepped = 0;
        for (int clock = 0; clock < CLOCKS; clock++) {
            if (seen[clock] != ahead[clock]) isStepped = 1;
            seen[clock] = ahead[clock];
        }
        if (!isStepped) continue;
        pthread_mutex_lock(&lock);
        for (int timer = 0; timer < TIMERS; timer++) if (timers[timer].isArmed) arm(timer, NULL);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("IDENTITY_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *memory = mmap(NULL, sizeof still, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return;
    ahead = memory;
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
}
