/* Stands in for libcobalt in tests: the same symbols, with a clock that moves only when it is slept on or read.
 * What it does is scripted by environment variables. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { XNRELAX = 0x80, PTHREAD_WARNSW = 0x4000, READ_COST_NS = 10 };

static int64_t now_ns = 1000000000000; /* a timeline of its own */
static int initialised, warns;
static __thread int attached, looks, switches, relaxed;

static long scripted(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

#ifndef WITHOUT_INIT
void xenomai_init_dso(int *argc, char *const **argv) {
    if (*argc != 1 || strcmp((*argv)[0], "jitterlab") || (*argv)[1])
        exit(42);
    if (scripted("FAKE_NO_PERMISSION")) {
        fprintf(stderr, "0\"000.000| BUG in low_init(): [main] interface unavailable\n");
        exit(1);
    }
    if (scripted("FAKE_KILLED"))
        raise(SIGKILL);
    initialised = 1;
}
#endif

int __cobalt_pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *parameter) {
    if (!initialised || !pthread_equal(thread, pthread_self()))
        return EINVAL;
    if (policy != SCHED_FIFO || parameter->sched_priority != 70)
        return ENOTSUP;
    if (scripted("FAKE_ATTACH"))
        return scripted("FAKE_ATTACH");
    attached = 1;
    return 0;
}

int __cobalt_pthread_setname_np(pthread_t thread, const char *name) {
    return strcmp(name, "servo") ? EINVAL : 0;
}

int pthread_setmode_np(int clear, int set, int *old) {
    warns = !clear && set == PTHREAD_WARNSW && !old;
    return attached ? 0 : EPERM;
}

int __cobalt_clock_gettime(clockid_t clock, struct timespec *now) {
    if (clock != CLOCK_MONOTONIC)
        return EINVAL;
    now_ns += READ_COST_NS;
    now->tv_sec = now_ns / 1000000000;
    now->tv_nsec = now_ns % 1000000000;
    return 0;
}

int __cobalt_clock_nanosleep(clockid_t clock, int flags, const struct timespec *due, struct timespec *left) {
    if (!attached || clock != CLOCK_MONOTONIC || flags != TIMER_ABSTIME || left)
        return EINVAL;
    static int interruptions;
    if (interruptions < scripted("FAKE_INTERRUPTIONS")) {
        interruptions++;
        return EINTR;
    }
    int64_t wake_ns = due->tv_sec * 1000000000LL + due->tv_nsec - scripted("FAKE_GRAVITY_NS");
    if (now_ns < wake_ns)
        now_ns = wake_ns;
    relaxed = 0;
    return 0;
}

static void relax(void) {
    switches++;
    if (warns) {
        union sigval value = { .sival_int = (int)0xfccf0002 };
        pthread_sigqueue(pthread_self(), SIGXCPU, value);
    }
}

/* Relaxed at every FAKE_RELAXED_EVERYth look; then the core warns with SIGDEBUG, reason 2: a system call. */
int cobalt_thread_mode(void) {
    long every = scripted("FAKE_RELAXED_EVERY");
    if (!attached || relaxed)
        return XNRELAX;
    if (!every || ++looks % every)
        return 0;
    relax();
    return XNRELAX;
}

/* Where this library is preloaded, a call of Linux relaxes a thread until it sleeps on the core's clock again. */
int getrusage(__rusage_who_t who, struct rusage *usage) {
    if (attached && !relaxed) {
        relaxed = 1;
        relax();
    }
    return syscall(SYS_getrusage, who, usage);
}

struct cobalt_threadstat {
    uint64_t xtime, timeout, msw, csw, xsc;
    uint32_t status, pf;
    int32_t cpu, cprio;
    char name[32], personality[32];
};

int cobalt_thread_stat(pid_t pid, struct cobalt_threadstat *stat) {
    if (pid || !attached)
        return -ESRCH;
    memset(stat, 0xee, sizeof(*stat));
    stat->msw = 3 + switches; /* three before anything was measured */
    return 0;
}
