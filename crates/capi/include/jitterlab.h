/* libjitterlab: periodic loops, a probe for loops that exist already, and recording.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC. A call that fails answers NULL or -1, and jitterlab_error says why and what to do.
 * Pointers may be NULL wherever a run, loop or probe is taken: nothing happens then, or the call fails.
 *
 * What a program must not do, and what happens then:
 * - use what was closed or freed, or one kind of pointer for another: the call fails, and jitterlab_error says why;
 * - use a loop on another thread than the one that made it: the call fails; a probe on another than the first that used it: what
 *   that thread does is not recorded, and counted as lost;
 * - go on after fork() with the parent's run: in the child every call fails, and the parent's file is as if there was no child;
 * - close descriptors that it did not open: what was recorded until then is in the file, which says why it ends;
 * - dlclose() the library: it stays, as its threads may still run in it;
 * - hand over any other address, or free a loop or probe while its thread uses it: this cannot be told.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef JITTERLAB_H
#define JITTERLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tasks and the file their activations are recorded in. */
typedef struct jitterlab_run jitterlab_run;
/* A periodic loop of the thread that made it. */
typedef struct jitterlab_loop jitterlab_loop;
/* What watches a loop that exists already, on the thread that runs it. */
typedef struct jitterlab_probe jitterlab_probe;

/* An activation that runs; start_ns - due_ns is how late it began. */
typedef struct jitterlab_activation {
    uint64_t index;   /* the number of its due time on the grid, from 0; missed due times leave gaps */
    int64_t due_ns;   /* when it was due */
    int64_t start_ns; /* when it began */
} jitterlab_activation;

/* What a task did so far. */
typedef struct jitterlab_figures {
    uint64_t executed;      /* activations that ran */
    uint64_t lost;          /* activations that ran and are not in the file */
    bool has_timing;        /* whether what follows is known, else 0: from the first activation on; with due=fitted later */
    uint64_t missed;        /* due times that were never served */
    int64_t min_latency_ns; /* negative where it began early */
    int64_t max_latency_ns;
} jitterlab_figures;

/* The release of the library, such as "0.1.0". */
const char *jitterlab_version(void);

/* Why the last call of this thread that failed did, and what to do; stays until the next one fails. */
const char *jitterlab_error(void);

/* Begins a run of tasks, written as for `jitterlab run --task`:
 *
 *     "name=base,period=25us,policy=fifo:95,cpu=1; name=servo,period=1ms,wake=timerfd,compensate=margin:25us"
 *
 * with the keys name, period, offset, cpu, policy, overrun, wake, clock and compensate; of a probe also due=fitted, see there.
 * `file` is the run file to make, or NULL for none. An ordinary thread writes it, on the processors of the caller: call this
 * before the caller is bound to one.
 * NULL if it fails: a task that cannot be understood or contradicts itself, a file that exists or cannot be made. */
jitterlab_run *jitterlab_run_new(const char *file, const char *tasks);

/* Ends every loop of the run before its next activation. From any thread, also in a signal handler. */
void jitterlab_run_stop(const jitterlab_run *run);

/* What its loops asked for and the system refused (with the remedy), by number from 0; NULL behind the last. Stays until the run
 * is closed. */
const char *jitterlab_run_refusal(const jitterlab_run *run, size_t number);

/* What the task of this name did so far, from any thread at any time. 0, or -1 if there is no such task. */
int jitterlab_run_figures(const jitterlab_run *run, const char *task, jitterlab_figures *figures);

/* Ends the run and makes its file; its loops and probes should be freed before. 0, or -1 if the file could not be made, or run is
 * NULL or was closed before. */
int jitterlab_run_close(jitterlab_run *run);

/* Sets the calling thread up as the task of this name says (policy, processor, wake-up; under a real-time policy all memory of
 * the process is locked too) and makes its loop, whose first activation is due a period later. What the system refuses is no
 * failure: see jitterlab_run_refusal. NULL if it fails. */
jitterlab_loop *jitterlab_loop_new(const jitterlab_run *run, const char *task);

/* Ends the activation that runs, if one does, and waits for the next. false once the loop is over. `activation` may be NULL. */
bool jitterlab_loop_wait(jitterlab_loop *loop, jitterlab_activation *activation);

/* Ends the activation that runs now; without this it ends in the next jitterlab_loop_wait. */
void jitterlab_loop_done(jitterlab_loop *loop);

void jitterlab_loop_free(jitterlab_loop *loop);

/* A probe for the loop of the first thread that uses it, as the task of this name: its period counts, and its overrun policy where due times
 * are not given. For a task with due=fitted, due times are found when activations are recorded: a grid is fitted to the starts
 * of the first 2 s (of a task without a period that, too), on which the earliest of them counts as in time; figures have no
 * timing before that, and due times that are given do not count. NULL if it fails. */
jitterlab_probe *jitterlab_probe_new(const jitterlab_run *run, const char *task);

/* An activation begins. Without its due time, it was due a period after the one before, the first one when it began.
 * The clock is read once; nothing is allocated or locked, and the kernel is not entered. */
void jitterlab_probe_begin(jitterlab_probe *probe);

/* The same for a loop that knows when it was due: what it slept until. */
void jitterlab_probe_begin_at(jitterlab_probe *probe, int64_t due_ns);

/* The activation ends; the wait of the loop comes after this. One that is not ended ends where the next begins. */
void jitterlab_probe_end(jitterlab_probe *probe);

void jitterlab_probe_free(jitterlab_probe *probe);

#ifdef __cplusplus
}
#endif

#endif
