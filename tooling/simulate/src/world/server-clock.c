/*
 * The clock of a Redis of the simulation. Loaded with LD_PRELOAD, it answers the calls by which a server reads the time of day
 * with a number that the scheduler writes into a file: µs since the epoch. So TIME, expiries and the instants of its replies follow the
 * scheduler alike, without a change of a script or of the server. The monotonic clock, by which Redis runs its own work, stays real.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *clock_us;

__attribute__((constructor)) static void map_clock(void) {
    const char *path = getenv("MORTISE_SERVER_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) abort();
    clock_us = mmap(NULL, sizeof(*clock_us), PROT_READ, MAP_SHARED, file, 0);
    if (clock_us == MAP_FAILED) abort();
    close(file);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int64_t us = *clock_us;
    (void)zone;
    now->tv_sec = us / 1000000;
    now->tv_usec = us % 1000000;
    return 0;
}

time_t time(time_t *out) {
    time_t now = *clock_us / 1000000;
    if (out) *out = now;
    return now;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
        int64_t us = *clock_us;
        now->tv_sec = us / 1000000;
        now->tv_nsec = us % 1000000 * 1000;
        return 0;
    }
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return real(id, now);
}
