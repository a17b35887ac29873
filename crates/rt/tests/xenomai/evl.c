/* Stands in for libevl in tests: the same symbols, with a clock that moves only when it is slept on or read.
 * What it does is scripted by environment variables. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

struct evl_version {
    int api_level, abi_level;
    const char *version_string;
};

struct evl_version evl_get_version(void) {
    return (struct evl_version){ .api_level = 26, .abi_level = 32, .version_string = "evl.0.47" };
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
    char name[32];
    vsnprintf(name, sizeof(name), format, arguments);
    va_end(arguments);
    char expected[32];
    snprintf(expected, sizeof(expected), "servo:%d", gettid());
    if (!initialised || flags || strcmp(name, expected))
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

static void warn(int cause) {
    if (warns) {
        union sigval value = { .sival_int = (int)0xfccf0000 | cause };
        pthread_sigqueue(pthread_self(), SIGXCPU, value);
    }
}

bool evl_is_inband(void) {
    long every = scripted("FAKE_RELAXED_EVERY");
    if (!out_of_band)
        return true;
    if (!every || ++looks % every)
        return false;
    warn(3);
    return true;
}

/* Where this library is preloaded, a call of Linux moves an EVL thread to Linux's side, as the core does. */
int getrusage(__rusage_who_t who, struct rusage *usage) {
    if (out_of_band) {
        out_of_band = 0;
        warn(2);
    }
    return syscall(SYS_getrusage, who, usage);
}
