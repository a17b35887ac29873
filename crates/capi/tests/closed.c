/* The library is closed while a run goes on, opened again, and ends the run. closed LIBRARY FILE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "jitterlab.h"

#define FUNCTION(library, name) __typeof__(&name) own_##name = (__typeof__(&name))dlsym(library, #name)

int main(int count, char **arguments) {
    if (count != 3) return 2;
    void *library = dlopen(arguments[1], RTLD_NOW);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 3;
    FUNCTION(library, jitterlab_run_new);
    FUNCTION(library, jitterlab_loop_new);
    FUNCTION(library, jitterlab_loop_wait);
    jitterlab_run *run = own_jitterlab_run_new(arguments[2], "name=loop,period=1ms");
    jitterlab_loop *loop = own_jitterlab_loop_new(run, "loop");
    if (!run || !loop) return 4;
    for (int i = 0; i < 200; i++) own_jitterlab_loop_wait(loop, NULL);
    dlclose(library);
    /* Its threads write meanwhile. */
    usleep(700000);
    for (int i = 0; i < 100; i++) own_jitterlab_loop_wait(loop, NULL);
    library = dlopen(arguments[1], RTLD_NOW);
    FUNCTION(library, jitterlab_loop_free);
    FUNCTION(library, jitterlab_run_close);
    own_jitterlab_loop_free(loop);
    int closed = own_jitterlab_run_close(run);
    dlclose(library);
    return closed == 0 ? 0 : 5;
}
