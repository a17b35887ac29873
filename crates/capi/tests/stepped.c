/* How many instructions the probe takes on the thread that it watches: stepped FILES prints, for each way in which due times are
 * known, those of an activation, and what an activation's two clock readings take besides the clock's own. What is recorded is
 * left in files whose names begin with FILES.
 *
 * A child runs activations, its parent lets it go on by one instruction at a time and looks where it is: in the clock's code, the
 * kernel's shared page and the C library's way there, nothing is counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jitterlab.h"

#define TASKS "name=said,period=1us; name=period,period=100ms; name=fitted,period=100ms,due=fitted"

static jitterlab_probe *probe;
static long activations;

__attribute__((noinline)) static void said(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t due_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    for (long k = 0; k < activations; k++, due_ns += 1000) {
        jitterlab_probe_begin_at(probe, due_ns);
        jitterlab_probe_end(probe);
    }
}

__attribute__((noinline)) static void unsaid(void) {
    for (long k = 0; k < activations; k++) {
        jitterlab_probe_begin(probe);
        jitterlab_probe_end(probe);
    }
}

__attribute__((noinline)) static void clock_alone(void) {
    struct timespec now;
    for (long k = 0; k < 2 * activations; k++) clock_gettime(CLOCK_MONOTONIC, &now);
}

static void watched(const char *file, const char *task, void (*loop)(void), long count) {
    jitterlab_run *run = NULL;
    if (loop != clock_alone) {
        run = jitterlab_run_new(file, TASKS);
        probe = jitterlab_probe_new(run, task);
        if (!probe) exit(fprintf(stderr, "%s\n", jitterlab_error()));
    }
    /* Whatever happens but once is over then. */
    activations = 10;
    loop();
    activations = count;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    loop();
    raise(SIGSTOP);
    _exit(0);
}

/* The kernel's shared page in a process. */
static void shared_page(pid_t process, unsigned long long *from, unsigned long long *to) {
    char line[512];
    snprintf(line, sizeof line, "/proc/%d/maps", (int)process);
    FILE *maps = fopen(line, "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "[vdso]")) sscanf(line, "%llx-%llx", from, to);
    if (maps) fclose(maps);
}

static long steps(const char *files, const char *task, void (*loop)(void), long count) {
    char file[512];
    snprintf(file, sizeof file, "%s-%s-%ld.parquet", files, task, count);
    pid_t child = fork();
    if (child == 0) watched(file, task, loop, count);
    int status;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) exit(3);
    unsigned long long page = 0, page_end = 0, clock = (unsigned long long)dlsym(RTLD_DEFAULT, "clock_gettime");
    shared_page(child, &page, &page_end);
    long counted = 0;
    for (;;) {
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        unsigned long long at = registers.rip;
        /* The C library's function is shorter than that. */
        counted += !(at >= page && at < page_end) && !(at >= clock && at < clock + 96);
        ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status)) exit(3);
        if (WSTOPSIG(status) == SIGSTOP) break;
        if (WSTOPSIG(status) != SIGTRAP) exit(4);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return counted;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    /* To be moved to another processor is counted, too, but not what is asked here. */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    struct { const char *name; void (*loop)(void); } ways[] = {
        {"said", said}, {"period", unsaid}, {"fitted", unsaid}, {"clock", clock_alone},
    };
    for (int i = 0; i < 4; i++) {
        long few = steps(arguments[1], ways[i].name, ways[i].loop, 100);
        long more = steps(arguments[1], ways[i].name, ways[i].loop, 600);
        printf("%s %.1f\n", ways[i].name, (more - few) / 500.0);
    }
    return 0;
}
