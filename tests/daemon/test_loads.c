/* SPDX-License-Identifier: MIT */
/* Loads that begin at once, in processes that have loaded nothing before: glibc makes its allocator
 * at the first call, without a lock. That call is a load's where malloc is another's, as it is
 * under a sanitizer; elsewhere the program's own start has made it. */
#include "tests/daemon/harness.h"

#include "daemon/models/load.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 150
#define THREADS 4

static pthread_barrier_t all_there;

static void *load(void *arg)
{
    struct model_load_request *f = arg;
    pthread_barrier_wait(&all_there);
    model_load(f);
    return NULL;
}

/* The exit code of a process that loads as the daemon does. */
static int loads_at_once(void)
{
    static struct model_load_request f[THREADS];
    pthread_t t[THREADS];
    int failed = 0;
    memory_setup();
    pthread_barrier_init(&all_there, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        f[i] = (struct model_load_request) { .fd = -1, .path = "vad", .max_bytes = SIZE_MAX };
        if (pthread_create(&t[i], NULL, load, &f[i]) != 0)
            return 2;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        failed |= !f[i].model.lane.plan;
        rill_plan_unref(f[i].model.lane.plan);
    }
    return failed;
}

int main(void)
{
    unsigned n_bad = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0)
            _exit(loads_at_once());
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
            printf("process %d: status %x\n", i, (unsigned) status), n_bad++;
    }
    CHECK(!n_bad, "%u of %d processes", n_bad, PROCESSES);
    return check_end();
}
