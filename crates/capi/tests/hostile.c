/* What a program may do wrong: every call answers, and says why. hostile FILE THAT EXISTS */
#include <stdio.h>
#include <string.h>

#include "jitterlab.h"

static int failures;

static void says(int failed, const char *part) {
    if (!failed || !strstr(jitterlab_error(), part)) {
        fprintf(stderr, "%s: not said in: %s\n", part, jitterlab_error());
        failures++;
    }
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    says(jitterlab_run_new(NULL, NULL) == NULL, "tasks is NULL");
    says(jitterlab_run_new(NULL, "") == NULL, "needs a task");
    says(jitterlab_run_new(NULL, "period=1ms,period=2ms") == NULL, "given twice");
    says(jitterlab_run_new(NULL, "period=1ms,work=spin:1us") == NULL, "leave them out");
    says(jitterlab_run_new(NULL, "period=1ms; period=2ms") == NULL, "name=");
    says(jitterlab_run_new(NULL, "period=1ms,wake=deadline") == NULL, "deadline");
    says(jitterlab_run_new(NULL, "name=\xff,period=1ms") == NULL, "UTF-8");
    says(jitterlab_run_new(arguments[1], "period=1ms") == NULL, "exists");
    says(jitterlab_run_new("/nowhere/at/all.parquet", "period=1ms") == NULL, "/nowhere");
    says(jitterlab_loop_new(NULL, "main") == NULL, "/nowhere");
    says(jitterlab_probe_new(NULL, "main") == NULL, "/nowhere");

    jitterlab_figures figures;
    jitterlab_run *run = jitterlab_run_new(NULL, "name=a,period=1ms; name=b,period=1ms,cpu=4095");
    says(jitterlab_loop_new(run, NULL) == NULL, "task is NULL");
    says(jitterlab_loop_new(run, "c") == NULL, "it has a, b");
    says(jitterlab_run_figures(run, "c", &figures) == -1, "it has a, b");
    jitterlab_probe *probe = jitterlab_probe_new(run, "a");
    says(jitterlab_loop_new(run, "a") == NULL, "a has had its loop");
    if (jitterlab_run_figures(run, "a", &figures) != 0 || figures.executed != 0 || figures.has_timing) failures++;
    if (jitterlab_run_figures(run, "a", NULL) != -1 && failures++) return 1;
    jitterlab_probe_end(probe);
    jitterlab_probe_begin(probe);
    jitterlab_probe_begin_at(probe, INT64_MAX);
    jitterlab_probe_begin_at(probe, INT64_MIN);
    jitterlab_probe_begin(probe);

    jitterlab_loop *loop = jitterlab_loop_new(run, "b");
    jitterlab_loop_done(loop);
    if (!jitterlab_loop_wait(loop, NULL)) failures++;
    /* No failure, but said: the processor is not there. */
    const char *refused = jitterlab_run_refusal(run, 0);
    if ((!refused || !strstr(refused, "processor 4095")) && fprintf(stderr, "not said: %s\n", refused)) failures++;
    if (jitterlab_run_refusal(run, 1)) failures++;
    jitterlab_run_stop(run);
    if (jitterlab_loop_wait(loop, NULL)) failures++;
    /* In the wrong order: the run first. */
    if (jitterlab_run_close(run) != 0) failures++;
    jitterlab_loop_free(loop);
    jitterlab_probe_free(probe);

    jitterlab_loop_free(NULL);
    jitterlab_loop_done(NULL);
    if (jitterlab_loop_wait(NULL, NULL)) failures++;
    jitterlab_probe_begin(NULL);
    jitterlab_probe_begin_at(NULL, 0);
    jitterlab_probe_end(NULL);
    jitterlab_probe_free(NULL);
    jitterlab_run_stop(NULL);
    if (jitterlab_run_refusal(NULL, 0)) failures++;
    /* Why there is no run is what is said of all that is asked of it, until one is begun. */
    says(jitterlab_run_new("/nowhere/run.parquet", "name=a") == NULL, "/nowhere");
    says(jitterlab_loop_new(NULL, "a") == NULL, "/nowhere");
    says(jitterlab_run_close(NULL) == -1, "/nowhere");
    run = jitterlab_run_new(NULL, "name=a");
    if (!run || jitterlab_run_close(run) != 0) failures++;
    says(jitterlab_run_close(NULL) == -1, "run is NULL");
    return failures != 0;
}
