/* What a program must not do: an error with a text, or a right file, never both wrong and silent. misuse FILE */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jitterlab.h"

static int failures;

static void says(int failed, const char *part, const char *what) {
    if (!failed || !strstr(jitterlab_error(), part)) {
        fprintf(stderr, "%s: not said (%s) in: %s\n", what, part, jitterlab_error());
        failures++;
    }
}

/* For calls that answer nothing: the text is a new one. */
#define SILENT(call, part)                              \
    do {                                                \
        jitterlab_loop_new(NULL, NULL);                 \
        call;                                           \
        says(1, part, #call);                           \
    } while (0)

static jitterlab_probe *shared;
enum { OWN = 5000, OTHER = 3000 };

static void *second_thread(void *loop) {
    SILENT(says(!jitterlab_loop_wait(loop, NULL), "another thread uses this loop", "wait"), "another thread");
    for (int i = 0; i < OTHER; i++) {
        jitterlab_probe_begin(shared);
        jitterlab_probe_end(shared);
    }
    says(1, "another thread uses this probe", "begin on a second thread");
    return NULL;
}

static void *waits(void *run) {
    jitterlab_loop *loop = jitterlab_loop_new(run, "late");
    while (jitterlab_loop_wait(loop, NULL)) {}
    jitterlab_loop_free(loop);
    return NULL;
}

/* The child of a process that records. */
static int child(jitterlab_run *run, jitterlab_loop *loop) {
    jitterlab_figures figures;
    failures = 0;
    says(jitterlab_run_figures(run, "loop", &figures) == -1, "fork", "figures in a child");
    says(jitterlab_loop_new(run, "late") == NULL, "fork", "a loop in a child");
    says(jitterlab_probe_new(run, "late") == NULL, "fork", "a probe in a child");
    says(jitterlab_run_refusal(run, 0) == NULL, "fork", "refusals in a child");
    if (jitterlab_loop_wait(loop, NULL)) failures++;
    jitterlab_probe_begin(shared);
    jitterlab_probe_end(shared);
    jitterlab_probe_free(shared);
    jitterlab_loop_free(loop);
    says(jitterlab_run_close(run) == -1, "fork", "close in a child");
    /* It may have a run of its own. */
    jitterlab_run *own = jitterlab_run_new(NULL, "name=own,period=1ms");
    jitterlab_probe *probe = jitterlab_probe_new(own, "own");
    jitterlab_probe_begin(probe);
    jitterlab_probe_end(probe);
    if (jitterlab_run_figures(own, "own", &figures) != 0 || figures.executed != 1) failures++;
    jitterlab_probe_free(probe);
    if (jitterlab_run_close(own) != 0) failures++;
    return failures;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    jitterlab_figures figures;
    jitterlab_run *run = jitterlab_run_new(arguments[1], "name=loop,period=1ms; name=probe,period=1us; name=late,period=1ms; name=spare,period=1ms");
    jitterlab_loop *loop = jitterlab_loop_new(run, "loop");
    shared = jitterlab_probe_new(run, "probe");
    if (!run || !loop || !shared) return 3;
    for (int i = 0; i < 10; i++) jitterlab_loop_wait(loop, NULL);

    /* Two threads, one after the other and at once. */
    pthread_t other;
    jitterlab_probe_begin(shared);
    jitterlab_probe_end(shared);
    pthread_create(&other, NULL, second_thread, loop);
    for (int i = 1; i < OWN; i++) {
        jitterlab_probe_begin(shared);
        jitterlab_probe_end(shared);
    }
    pthread_join(other, NULL);

    /* One thing for another. */
    says(!jitterlab_loop_wait((jitterlab_loop *)shared, NULL), "no loop", "a probe as a loop");
    SILENT(jitterlab_loop_done((jitterlab_loop *)run), "no loop");
    SILENT(jitterlab_probe_begin((jitterlab_probe *)loop), "no probe");
    SILENT(jitterlab_probe_free((jitterlab_probe *)run), "no probe");
    says(jitterlab_loop_new((jitterlab_run *)loop, "late") == NULL, "no run", "a loop as a run");
    says(jitterlab_run_close((jitterlab_run *)shared) == -1, "no run", "a probe as a run");
    says(jitterlab_run_figures((jitterlab_run *)((char *)run + 1), "loop", &figures) == -1, "no run", "an odd address");

    pid_t process = fork();
    if (process == 0) exit(child(run, loop));
    int status;
    waitpid(process, &status, 0);
    if (status != 0 && fprintf(stderr, "the child ended with %d\n", status)) failures++;

    /* What is over. */
    jitterlab_loop_free(loop);
    SILENT(jitterlab_loop_free(loop), "freed before");
    says(!jitterlab_loop_wait(loop, NULL), "freed before", "a loop that was freed");
    SILENT(jitterlab_loop_done(loop), "freed before");
    jitterlab_probe_free(shared);
    SILENT(jitterlab_probe_free(shared), "freed before");
    SILENT(jitterlab_probe_begin(shared), "freed before");
    SILENT(jitterlab_probe_begin_at(shared, 1), "freed before");
    SILENT(jitterlab_probe_end(shared), "freed before");
    says(jitterlab_loop_new(run, "loop") == NULL, "has had its loop", "a second loop of a task");

    /* Closed while a loop waits on its thread. */
    pthread_create(&other, NULL, waits, run);
    do {
        usleep(1000);
        jitterlab_run_figures(run, "late", &figures);
    } while (figures.executed < 5);
    if (jitterlab_run_close(run) != 0) failures++;
    pthread_join(other, NULL);
    says(jitterlab_run_close(run) == -1, "closed before", "closed twice");
    says(jitterlab_run_figures(run, "loop", &figures) == -1, "closed before", "figures of a run that was closed");
    says(jitterlab_loop_new(run, "spare") == NULL, "closed before", "a loop of a run that was closed");
    says(jitterlab_probe_new(run, "spare") == NULL, "closed before", "a probe of a run that was closed");
    says(jitterlab_run_refusal(run, 0) == NULL, "closed before", "refusals of a run that was closed");
    jitterlab_run_stop(run);
    return failures != 0;
}
