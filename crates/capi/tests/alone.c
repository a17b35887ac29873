/* What the probe does on the thread that it watches, and nothing else: alone FILE ACTIVATIONS.
 * The kernel kills the program if the thread makes any system call while it is watched, and the program itself ends if
 * the thread allocates. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "jitterlab.h"

static jitterlab_probe *probe;
static long activations;
static atomic_int through;

/* Memory as the C library has it, and none for the thread that is watched. */
static _Thread_local int alone;
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size) {
    if (alone) abort();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (alone) abort();
    return __libc_calloc(count, size);
}

void *realloc(void *before, size_t size) {
    if (alone) abort();
    return __libc_realloc(before, size);
}

__attribute__((noinline)) static void watched(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t due_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    for (long k = 0; k < activations; k++, due_ns += 1000) {
        jitterlab_probe_begin_at(probe, due_ns);
        jitterlab_probe_end(probe);
    }
}

static void *sealed(void *unused) {
    (void)unused;
    struct sock_filter only_its_end[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {.len = 4, .filter = only_its_end};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) {
        alone = 1;
        watched();
        alone = 0;
        atomic_store(&through, 1);
    }
    syscall(SYS_exit, 0);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    activations = atol(arguments[2]);
    jitterlab_run *run = jitterlab_run_new(arguments[1], "name=alone,period=1us");
    probe = jitterlab_probe_new(run, "alone");
    if (!probe) {
        fprintf(stderr, "%s\n", jitterlab_error());
        return 1;
    }
    pthread_t thread;
    pthread_create(&thread, NULL, sealed, NULL);
    pthread_detach(thread);
    for (int tenths = 0; tenths < 100 && !atomic_load(&through); tenths++) usleep(100000);
    if (!atomic_load(&through)) return 3;
    jitterlab_probe_free(probe);
    return jitterlab_run_close(run) == 0 ? 0 : 1;
}
