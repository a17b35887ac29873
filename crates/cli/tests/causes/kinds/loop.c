/* A loop of 5 ms with something wrong in it, and threads that disturb one.
 *
 *     loop victim KIND POLICY PRIORITY CPU    the loop: its kinds are below
 *     loop NAME POLICY PRIORITY CPU           a thread of this name: 8 ms of work, 35 ms of rest
 *     loop tracer PID                         stops a process as debuggers do
 *     loop poller CPU                         long system calls
 *     loop timers CPU                         many timers that expire together
 *     loop flood CPU                          packets to itself
 *     loop storm CPU                          hundreds of thousands of events a second
 *
 * Priority is a nice value of ordinary threads; a negative CPU binds to none. All end by themselves. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000L
#define PERIOD (5 * MS)
#define ENDS_AFTER 20

static pthread_mutex_t lock;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void spin(int64_t ns) {
    for (int64_t end = now() + ns; now() < end;) {
    }
}

static void rest(int64_t ns) {
    struct timespec t = {ns / 1000000000L, ns % 1000000000L};
    nanosleep(&t, NULL);
}

static void until(int64_t ns) {
    struct timespec t = {ns / 1000000000L, ns % 1000000000L};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) {
    }
}

static void bind_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof set, &set)) perror("sched_setaffinity");
}

static void schedule(const char *policy, int priority) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } deadline = {.size = 48, .policy = 6, .runtime = 2 * MS, .deadline = 4 * MS, .period = PERIOD};
    struct sched_param param = {.sched_priority = priority};
    int failed = 0;
    if (!strcmp(policy, "deadline")) {
        /* The runtime of a thread that only disturbs: 9 of 40 ms. */
        if (priority) deadline.runtime = 9 * MS, deadline.deadline = deadline.period = 40 * MS;
        failed = syscall(SYS_sched_setattr, 0, &deadline, 0);
    } else if (!strcmp(policy, "other"))
        failed = setpriority(PRIO_PROCESS, 0, priority);
    else
        failed = sched_setscheduler(0, strcmp(policy, "rr") ? SCHED_FIFO : SCHED_RR, &param);
    if (failed) perror(policy);
}

static void *holder(void *cpu) {
    prctl(PR_SET_NAME, "holder");
    bind_to((int)(intptr_t)cpu);
    schedule("fifo", 10);
    for (;;) {
        rest(35 * MS);
        pthread_mutex_lock(&lock);
        spin(8 * MS);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *middle(void *nothing) {
    prctl(PR_SET_NAME, "middle");
    bind_to(0);
    schedule("fifo", 20);
    for (;;) {
        rest(11 * MS);
        spin(9 * MS);
    }
    return nothing;
}

static void victim(const char *kind, const char *policy, int priority, int cpu) {
    pthread_mutexattr_t attributes;
    pthread_t thread;
    int is_lock = strstr(kind, "lock") != NULL, is_deadline = !strcmp(policy, "deadline");
    pthread_mutexattr_init(&attributes);
    if (!strcmp(kind, "pi-lock")) pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &attributes);
    prctl(PR_SET_NAME, "victim");
    if (!strcmp(kind, "inverted-lock")) pthread_create(&thread, NULL, middle, NULL);
    if (is_lock) pthread_create(&thread, NULL, holder, (void *)(intptr_t)(strcmp(kind, "inverted-lock") ? 1 : 0));
    if (!is_deadline) bind_to(cpu);
    schedule(policy, priority);
    int64_t due = (now() / PERIOD + 1) * PERIOD;
    for (unsigned long k = 0;; k++) {
        if (is_deadline)
            sched_yield(); /* until its next budget */
        else
            until(due);
        if (is_lock) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
        if (!strcmp(kind, "overruns") && k % 10 == 0) spin(8 * MS);
        if (!strcmp(kind, "faults") && k % 10 == 0) {
            size_t size = 96 << 20;
            char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            madvise(memory, size, MADV_NOHUGEPAGE);
            for (int64_t at = 0, end = now() + 9 * MS; at < (int64_t)size && now() < end; at += 4096) memory[at] = 1;
            munmap(memory, size);
        }
        due += PERIOD;
    }
}

static void disturb(const char *name, const char *policy, int priority, int cpu) {
    prctl(PR_SET_NAME, name);
    if (strcmp(policy, "deadline")) bind_to(cpu);
    /* A thread that raises its own priority while it runs: and lowers it again, or waits with it. */
    int raises = !strcmp(policy, "raises"), lowers = !strcmp(policy, "raises-and-lowers");
    struct sched_param urgent = {.sched_priority = priority}, ordinary = {0};
    if (!raises && !lowers) schedule(policy, priority);
    if (raises || lowers) bind_to(cpu);
    for (;;) {
        if (raises || lowers) sched_setscheduler(0, SCHED_FIFO, &urgent);
        spin(8 * MS);
        if (lowers) sched_setscheduler(0, SCHED_OTHER, &ordinary);
        rest(35 * MS);
        if (raises) {
            sched_setscheduler(0, SCHED_OTHER, &ordinary);
            rest(1 * MS);
        }
    }
}

static void trace(pid_t pid) {
    prctl(PR_SET_NAME, "tracer");
    for (;; rest(80 * MS)) {
        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL)) perror("ptrace");
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
        waitpid(pid, NULL, __WALL);
        rest(15 * MS);
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
    }
}

/* One call goes over all of these without letting another thread run. */
static void poll_long(int cpu) {
    prctl(PR_SET_NAME, "poller");
    bind_to(cpu);
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    nfds_t count = most.rlim_cur - 10;
    struct pollfd *all = calloc(count, sizeof *all);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    for (nfds_t i = 0; i < count; i++) all[i] = (struct pollfd){.fd = timer, .events = POLLIN};
    for (;; rest(7 * MS)) {
        for (int64_t end = now() + 8 * MS; now() < end;) poll(all, count, 0);
    }
}

/* All of them sleep until every ninth activation of the loop. */
static void *sleeper(void *nothing) {
    for (int64_t due = now() / (9 * PERIOD) * 9 * PERIOD;; until(due)) due += 9 * PERIOD;
    return nothing;
}

static void set_timers(int cpu) {
    prctl(PR_SET_NAME, "timers");
    bind_to(cpu);
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleeper, NULL)) perror("pthread_create");
    }
    for (;;) rest(100 * MS);
}

static void flood(int cpu) {
    prctl(PR_SET_NAME, "flood");
    bind_to(cpu);
    int out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof to;
    if (bind(out, (struct sockaddr *)&to, length) || getsockname(out, (struct sockaddr *)&to, &length)) perror("bind");
    static char packet[60000];
    for (;; rest(35 * MS)) {
        for (int64_t end = now() + 8 * MS; now() < end;)
            sendto(out, packet, sizeof packet, 0, (struct sockaddr *)&to, length);
    }
}

/* Two processes that wake each other as fast as they can. */
static void storm(int cpu) {
    prctl(PR_SET_NAME, "storm");
    bind_to(cpu);
    int there[2], back[2];
    char byte = 0;
    if (pipe(there) || pipe(back)) perror("pipe");
    int is_child = fork() == 0;
    int from = is_child ? there[0] : back[0], to = is_child ? back[1] : there[1];
    if (is_child) alarm(ENDS_AFTER);
    if (!is_child && write(to, &byte, 1) != 1) perror("write");
    while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1) {
    }
}

int main(int count, char **words) {
    alarm(ENDS_AFTER);
    int number = atoi(words[count - 1]);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 100000 ? files.rlim_max : 100000;
    setrlimit(RLIMIT_NOFILE, &files);
    if (count == 6) victim(words[2], words[3], atoi(words[4]), number);
    if (count == 5) disturb(words[1], words[2], atoi(words[3]), number);
    if (count == 3 && !strcmp(words[1], "tracer")) trace(number);
    if (count == 3 && !strcmp(words[1], "poller")) poll_long(number);
    if (count == 3 && !strcmp(words[1], "flood")) flood(number);
    if (count == 3 && !strcmp(words[1], "storm")) storm(number);
    if (count == 3 && !strcmp(words[1], "timers")) set_timers(number);
    return 2;
}
