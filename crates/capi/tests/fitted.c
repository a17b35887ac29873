/* A loop every 25 ms that does not say when it is due: fitted FILE TASKS ACTIVATIONS. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "jitterlab.h"

int main(int count, char **arguments) {
    if (count != 4) return 2;
    jitterlab_run *run = jitterlab_run_new(arguments[1][0] ? arguments[1] : NULL, arguments[2]);
    if (!run) {
        fprintf(stderr, "%s\n", jitterlab_error());
        return 1;
    }
    /* It is for probes. */
    if (jitterlab_loop_new(run, "main")) return 1;
    fprintf(stderr, "%s\n", jitterlab_error());
    jitterlab_probe *probe = jitterlab_probe_new(run, "main");
    if (!probe) return 1;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long k = 0; k < atol(arguments[3]); k++) {
        next.tv_nsec += 25000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        jitterlab_probe_begin(probe);
        jitterlab_probe_end(probe);
    }
    jitterlab_probe_free(probe);
    if (jitterlab_run_close(run) != 0) {
        fprintf(stderr, "%s\n", jitterlab_error());
        return 1;
    }
    return 0;
}
