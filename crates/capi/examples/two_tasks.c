/* Two periodic tasks in C, 40 kHz and 1 kHz, in one run file: two_tasks FILE SECONDS. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "jitterlab.h"

static jitterlab_run *run;

static void *task(void *name) {
    jitterlab_loop *loop = jitterlab_loop_new(run, name);
    if (!loop) {
        fprintf(stderr, "%s\n", jitterlab_error());
        exit(1);
    }
    while (jitterlab_loop_wait(loop, NULL)) {
        /* The work of one activation. */
    }
    jitterlab_loop_free(loop);
    return NULL;
}

int main(int count, char **arguments) {
    const char *names[] = {"base", "servo"};
    pthread_t threads[2];
    if (count != 3) return 2;
    run = jitterlab_run_new(arguments[1], "name=base,period=25us; name=servo,period=1ms");
    if (!run) {
        fprintf(stderr, "%s\n", jitterlab_error());
        return 1;
    }
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, task, (void *)names[i]);
    sleep((unsigned)atoi(arguments[2]));
    jitterlab_run_stop(run);
    for (int i = 0; i < 2; i++) {
        jitterlab_figures figures;
        pthread_join(threads[i], NULL);
        jitterlab_run_figures(run, names[i], &figures);
        printf("%s %llu executed %llu missed %llu lost\n", names[i], (unsigned long long)figures.executed,
               (unsigned long long)figures.missed, (unsigned long long)figures.lost);
    }
    if (jitterlab_run_close(run) != 0) {
        fprintf(stderr, "%s\n", jitterlab_error());
        return 1;
    }
    return 0;
}
