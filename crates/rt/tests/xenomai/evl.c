/* Stands in for libevl in tests: the same symbols, with a clock that moves only when it is slept on or read.
 * What it does is scripted by environment variables. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { T_WOSS = 0x8000, READ_COST_NS = 10, FILE_NUMBER = 77 };

static int64_t now_ns = 5000000000000; /* a timeline of its own */
static int initialised;
static __thread int attached, out_of_band, looks, warns;

static long scripted(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

int evl_init(void) {
    if (scripted("FAKE_INIT"))
        return -scripted("FAKE_INIT");
    initialised = 1;
    return 0;
}

int evl_attach_thread(int flags, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int number = va_arg(arguments, int);
    va_end(arguments);
    if (!initialised || flags || strcmp(format, "jitterlab:%d") || number != gettid())
        return -EINVAL;
    if (scripted("FAKE_ATTACH"))
        return -scripted("FAKE_ATTACH");
    attached = 1;
    return FILE_NUMBER;
}

int evl_detach_thread(int flags) {
    attached = 0;
    return flags ? -EINVAL : 0;
}

int evl_set_thread_mode(int file, int mask, int *old) {
    warns = file == FILE_NUMBER && mask == T_WOSS && !old;
    return warns ? 0 : -EINVAL;
}

int evl_switch_oob(void) {
    out_of_band = attached;
    return attached ? 0 : -EPERM;
}

int evl_read_clock(int clock, struct timespec *now) {
    if (clock != -1)
        return -EINVAL;
    now_ns += READ_COST_NS;
    now->tv_sec = now_ns / 1000000000;
    now->tv_nsec = now_ns % 1000000000;
    return 0;
}

int evl_sleep_until(int clock, const struct timespec *due) {
    if (!attached || clock != -1)
        return -EINVAL;
    static int interruptions;
    if (interruptions < scripted("FAKE_INTERRUPTIONS")) {
        interruptions++;
        return -EINTR;
    }
    int64_t wake_ns = due->tv_sec * 1000000000LL + due->tv_nsec - scripted("FAKE_GRAVITY_NS");
    if (now_ns < wake_ns)
        now_ns = wake_ns;
    return 0;
}

bool evl_is_inband(void) {
    long every = scripted("FAKE_RELAXED_EVERY");
    if (!out_of_band)
        return true;
    if (!every || ++looks % every)
        return false;
    if (warns) {
        union sigval value = { .sival_int = (int)0xfccf0003 };
        pthread_sigqueue(pthread_self(), SIGXCPU, value);
    }
    return true;
}
