/* Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0
 *
 * Steps the clocks of a program by the seconds in the file CLOCK_OFFSET_FILE, as after a sleep: the time of day and the time since
 * the start. Preloaded.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static long offset(void)
{
    const char *path = getenv("CLOCK_OFFSET_FILE");
    FILE *file = path ? fopen(path, "re") : NULL;
    long seconds = 0;
    if (!file) return 0;
    if (fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    fclose(file);
    return seconds;
}

static int is_stepped(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_BOOTTIME;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (result == 0 && is_stepped(clock)) time->tv_sec += offset();
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *place)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (place) *place = now.tv_sec;
    return now.tv_sec;
}

/* The clocks of timers, whose ends the kernel compares with its own time. */
static clockid_t clocks[4096];

int timerfd_create(int clock, int flags)
{
    static int (*real)(int, int);
    if (!real) real = (int (*)(int, int))dlsym(RTLD_NEXT, "timerfd_create");
    int descriptor = real(clock, flags);
    if (descriptor >= 0 && descriptor < 4096) clocks[descriptor] = clock;
    return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *wanted, struct itimerspec *before)
{
    static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
    if (!real) real = (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT, "timerfd_settime");
    struct itimerspec moved = *wanted;
    int knows = descriptor >= 0 && descriptor < 4096;
    if (flags & TFD_TIMER_ABSTIME && knows && is_stepped(clocks[descriptor]) && wanted->it_value.tv_sec > offset())
        moved.it_value.tv_sec -= offset();
    return real(descriptor, flags, &moved, before);
}
