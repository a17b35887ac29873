// The thread attributes of the Twente report's section 2.2.1, as they are listed but for a semicolon after 99, without which
// they do not compile; with an argument, the missing line is added.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *thread_func(void *unused) {
    struct sched_param param;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &param);
    printf("%s %d", policy == SCHED_FIFO ? "SCHED_FIFO" : policy == SCHED_OTHER ? "SCHED_OTHER" : "another policy",
           param.sched_priority);
    return unused;
}

int main(int count, char **words) {
    (void)words;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
        struct sched_param sched_params;
    sched_params.sched_priority = 99;
    pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    pthread_attr_setschedparam(&attr, &sched_params);
    if (count > 1) {
        pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    }
    pthread_t thread_id;
    if (pthread_create(&thread_id, &attr, &thread_func, NULL) != 0) {
        printf("not permitted");
        return 0;
    }
    return pthread_join(thread_id, NULL);
}
