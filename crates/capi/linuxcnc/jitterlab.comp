component jitterlab "Records when the functions of threads run, as a run file of jitterlab";

description """
One instance for each thread, its functions before and after all others of the thread:

.nf
loadrt threads name1=base period1=50000 name2=servo period2=1000000
loadrt jitterlab names=base-timing,servo-timing file=/tmp/threads.parquet
addf base-timing.begin base 1
addf servo-timing.begin servo 1
addf base-timing.end base
addf servo-timing.end servo
start
.fi

Recording begins once every instance has run. The run file is made when the component is unloaded, as HAL does when it ends;
of one that is killed \\fBjitterlab recover\\fR makes it. A thread does not tell when it was due: due times lie a
period apart, and the earliest start of the first two seconds counts as in time.
""";

function begin nofp "To be the first of its thread";
function end nofp "To be the last of its thread";

pin out bit recording "Whether activations are recorded";
pin out u32 activations "How many were recorded";

variable char task[48];
variable long thread_period;
variable jitterlab_probe *watching;
variable int refused;

modparam dummy file "The run file to make";

option extra_setup yes;
option extra_cleanup yes;

include <pthread.h>;
include <stdatomic.h>;
include <unistd.h>;
include <jitterlab.h>;

author "The jitterlab authors";
license "MIT OR Apache-2.0";
;;

static char *file = "linuxcnc.parquet";
RTAPI_MP_STRING(file, "The run file to make");

static _Atomic(jitterlab_run *) run;
static atomic_bool closing;
static atomic_int inside;
static pthread_t starter;

/* Whether there is such a file, or the journal of one whose session was killed. */
static int is_taken(const char *name) {
    char journal[4096 + 8];
    rtapi_snprintf(journal, sizeof(journal), "%s.part", name);
    return access(name, F_OK) == 0 || access(journal, F_OK) == 0;
}

/* The file's name, with a number where there is one of an earlier session: a run file is never overwritten. */
static const char *free_name(void) {
    static char name[4096];
    const char *ending = strrchr(file, '.');
    if (!ending || strchr(ending, '/')) ending = file + strlen(file);
    rtapi_snprintf(name, sizeof(name), "%s", file);
    for (int number = 2; is_taken(name); number++)
        rtapi_snprintf(name, sizeof(name), "%.*s-%d%s", (int)(ending - file), file, number, ending);
    return name;
}

/* Begins the run once the period of each thread is known, which it says when it first runs. */
static void *start(void *unused) {
    /* There is one such thread. */
    static char tasks[64 * 128];
    int known = 0;
    while (!known) {
        if (closing) return NULL;
        usleep(10000);
        known = 1;
        for (struct __comp_state *__comp_inst = __comp_first_inst; __comp_inst; __comp_inst = __comp_inst->_next)
            known &= __atomic_load_n(&thread_period, __ATOMIC_ACQUIRE) > 0;
    }
    for (struct __comp_state *__comp_inst = __comp_first_inst; __comp_inst; __comp_inst = __comp_inst->_next) {
        size_t used = strlen(tasks);
        rtapi_snprintf(tasks + used, sizeof(tasks) - used, "name=%s,period=%ldns,overrun=catch-up,due=fitted;", task,
                       thread_period);
    }
    const char *name = free_name();
    run = jitterlab_run_new(name, tasks);
    if (!run) rtapi_print_msg(RTAPI_MSG_ERR, "jitterlab: %s\n", jitterlab_error());
    else if (strcmp(name, file)) rtapi_print_msg(RTAPI_MSG_ERR, "jitterlab: %s is of an earlier run, this one is %s\n", file, name);
    return unused;
}

EXTRA_SETUP() {
    (void)extra_arg;
    rtapi_snprintf(task, sizeof(task), "%s", prefix);
    /* The first of several. */
    if (!__comp_first_inst && pthread_create(&starter, NULL, start, NULL)) return -EAGAIN;
    return 0;
}

EXTRA_CLEANUP() {
    closing = 1;
    while (inside) usleep(1000);
    pthread_join(starter, NULL);
    for (struct __comp_state *__comp_inst = __comp_first_inst; __comp_inst; __comp_inst = __comp_inst->_next) jitterlab_probe_free(watching);
    if (run && jitterlab_run_close(run)) rtapi_print_msg(RTAPI_MSG_ERR, "jitterlab: %s\n", jitterlab_error());
}

FUNCTION(begin) {
    inside++;
    if (!closing && !refused) {
        if (!thread_period) __atomic_store_n(&thread_period, period, __ATOMIC_RELEASE);
        if (!watching && run) {
            /* On this thread, whose policy and processors the file names. */
            watching = jitterlab_probe_new(run, task);
            refused = !watching;
            if (refused) rtapi_print_msg(RTAPI_MSG_ERR, "jitterlab: %s\n", jitterlab_error());
        }
        if (watching) {
            recording = 1;
            activations++;
            jitterlab_probe_begin(watching);
        }
    }
    inside--;
}

FUNCTION(end) {
    (void)period;
    inside++;
    if (!closing) jitterlab_probe_end(watching);
    inside--;
}
