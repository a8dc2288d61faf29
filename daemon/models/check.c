/* SPDX-License-Identifier: MIT */
#include "daemon/models/check.h"
#include "daemon/base/clock.h"
#include "daemon/models/load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODEL_FD 3
#define RESULT_FD 4
#define FILES_MAX 24
#define POLL_MS 100
#define MAGIC UINT32_C(0x6b636863)

/* The child's report, which counts only if it is complete. */
struct result {
    uint32_t magic, status;
    uint64_t kept_bytes;
    uint8_t sha256[32];
    char text[sizeof((rill_error *) 0)->text];
};

static rill_status __attribute__((format(printf, 2, 3)))
check_fail(rill_error *e, const char *format, ...)
{
    va_list ap;
    if (e) {
        e->status = RILL_LIMIT;
        va_start(ap, format);
        vsnprintf(e->text, sizeof e->text, format, ap);
        va_end(ap);
    }
    return RILL_LIMIT;
}

/* ---- starting the child ---- */

/* The environment without the service manager's variables for this process. */
static char **environment(void)
{
    static const char *const ours[] = { "NOTIFY_", "WATCHDOG_", "LISTEN_", "INVOCATION_ID",
                                        "JOURNAL_STREAM" };
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **list = calloc(n + 1, sizeof *list);
    for (size_t i = 0; list && i < n; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            drop |= strncmp(environ[i], ours[k], strlen(ours[k])) == 0;
        if (!drop)
            list[kept++] = environ[i];
    }
    return list;
}

/* Descriptors 3 and 4 for the child; dup2 onto itself would keep close-on-exec. */
static bool files_plan(posix_spawn_file_actions_t *a, int model, int result)
{
    return posix_spawn_file_actions_addopen(a, 0, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_adddup2(a, model, MODEL_FD) == 0 &&
        posix_spawn_file_actions_adddup2(a, result, RESULT_FD) == 0;
}

static bool attributes_set(posix_spawnattr_t *a)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    return posix_spawnattr_setsigmask(a, &none) == 0 &&
        posix_spawnattr_setsigdefault(a, &all) == 0 &&
        posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0;
}

/* model and result are at least 5. */
static int spawn(const struct check *c, int model, int result, pid_t *ret)
{
    char numbers[4][24],
        *argv[] = { (char *) "rilld",
                    (char *) "--check-model",
                    (char *) (uintptr_t) c->name,
                    numbers[0],
                    numbers[1],
                    numbers[2],
                    numbers[3],
                    NULL };
    const uint64_t values[4] = { c->max_model_bytes, c->memory_bytes, c->cpu_s, c->timeout_s };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    char **env = environment();
    int why = ENOMEM;
    for (int i = 0; i < 4; i++)
        snprintf(numbers[i], sizeof numbers[i], "%llu", (unsigned long long) values[i]);
    if (posix_spawn_file_actions_init(&files) == 0 && posix_spawnattr_init(&attr) == 0) {
        if (env && files_plan(&files, model, result) && attributes_set(&attr))
            why = posix_spawn(ret, "/proc/self/exe", &files, &attr, argv, env);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&files);
    }
    free(env);
    return why;
}

/* ---- its report ---- */

enum verdict { CHILD_DONE, CHILD_ENDED, CHILD_TIMED_OUT, CHILD_CANCELLED };

static enum verdict result_read(const struct check *c, int fd, struct result *r)
{
    uint8_t *to = (uint8_t *) r;
    size_t have = 0;
    uint64_t until_us = clock_now_us() + c->timeout_s * UINT64_C(1000000);
    while (have < sizeof *r) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        if (atomic_load(c->stop))
            return CHILD_CANCELLED;
        if (clock_now_us() >= until_us)
            return CHILD_TIMED_OUT;
        if (poll(&p, 1, POLL_MS) <= 0)
            continue;
        ssize_t n = read(fd, to + have, sizeof *r - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return CHILD_ENDED;
        have += (size_t) n;
    }
    return r->magic == MAGIC ? CHILD_DONE : CHILD_ENDED;
}

static rill_status child_end_describe(const struct check *c, int status, rill_error *err)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return check_fail(err,
                          "%.200s: the process that checked it was killed, as happens where the "
                          "machine has too little memory",
                          c->name);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return check_fail(
            err, "%.200s: checking it took more than %u s of processor time (models.check_cpu_s)",
            c->name, c->cpu_s);
    if (WIFSIGNALED(status))
        return check_fail(err,
                          "%.200s: the process that checked it ended with signal %d; this daemon "
                          "does not touch it",
                          c->name, WTERMSIG(status));
    return check_fail(err, "%.200s: the process that checked it ended with code %d and no verdict",
                      c->name, WEXITSTATUS(status));
}

static bool status_known(uint32_t s)
{
    switch ((rill_status) s) {
#define X(name, text) case RILL_##name:
        RILL_STATUS_LIST(X)
#undef X
        return true;
    }
    return false;
}

static rill_status result_take(struct check *c, struct result *r, uint8_t sha256[32],
                               rill_error *err)
{
    memcpy(sha256, r->sha256, 32);
    c->kept_bytes = r->kept_bytes < c->memory_bytes ? r->kept_bytes : c->memory_bytes;
    if (r->status == RILL_OK)
        return RILL_OK;
    r->text[sizeof r->text - 1] = '\0';
    for (unsigned char *p = (unsigned char *) r->text; *p; p++)
        if (*p < ' ' || *p == 0x7f)
            *p = '?';
    check_fail(err, "%.*s%s", (int) sizeof r->text - 80, r->text,
               r->status == RILL_NOMEM ? " (models.check_memory_bytes limits what loading may take)"
                                       : "");
    return err->status = status_known(r->status) ? (rill_status) r->status : RILL_INTERNAL;
}

static rill_status child_read(struct check *c, pid_t pid, int fd, uint8_t sha256[32],
                              rill_error *err)
{
    struct result r;
    int status = 0;
    enum verdict h = result_read(c, fd, &r);
    if (h != CHILD_ENDED)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    switch (h) {
    case CHILD_DONE: return result_take(c, &r, sha256, err);
    case CHILD_TIMED_OUT:
        return check_fail(err, "%.200s: checking it took more than %u s (models.check_timeout_s)",
                          c->name, c->timeout_s);
    case CHILD_CANCELLED: return check_fail(err, "%.200s: the daemon is stopping", c->name);
    default: return child_end_describe(c, status, err);
    }
}

rill_status check_model(struct check *c, uint8_t ret_sha256[32], rill_error *reterr)
{
    int ends[2], model = fcntl(c->fd, F_DUPFD_CLOEXEC, RESULT_FD + 1), result = -1;
    pid_t pid;
    if (model >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
        result = fcntl(ends[1], F_DUPFD_CLOEXEC, RESULT_FD + 1);
        close(ends[1]);
        if (result < 0)
            close(ends[0]);
    }
    int why = result < 0 ? errno : spawn(c, model, result, &pid);
    if (model >= 0)
        close(model);
    if (result >= 0)
        close(result);
    if (why) {
        if (result >= 0)
            close(ends[0]);
        c->is_transient = error_is_transient(why);
        return check_fail(reterr, "%.200s: no process to check it in: %s", c->name, strerror(why));
    }
    rill_status s = child_read(c, pid, ends[0], ret_sha256, reterr);
    close(ends[0]);
    return s;
}

/* ---- the child ---- */

static bool limit_set(int what, uint64_t soft, uint64_t hard)
{
    struct rlimit l, want = { (rlim_t) soft, (rlim_t) hard };
    if (getrlimit((__rlimit_resource_t) what, &l) < 0)
        return false;
    if (l.rlim_max != RLIM_INFINITY && want.rlim_max > l.rlim_max)
        want.rlim_max = l.rlim_max;
    if (want.rlim_cur > want.rlim_max)
        want.rlim_cur = want.rlim_max;
    return setrlimit((__rlimit_resource_t) what, &want) == 0;
}

/* Sanitizers reserve more address space than there is memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static bool limits_set(uint64_t memory_bytes, uint64_t cpu_s)
{
    return (SANITIZED || limit_set(RLIMIT_AS, memory_bytes, memory_bytes)) &&
        limit_set(RLIMIT_CPU, cpu_s, cpu_s + 1) && limit_set(RLIMIT_NOFILE, FILES_MAX, FILES_MAX) &&
        limit_set(RLIMIT_CORE, 0, 0) && (SANITIZED || limit_set(RLIMIT_FSIZE, 0, 0)) &&
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
        prctl(PR_SET_DUMPABLE, SANITIZED) == 0;
}

/* Where memory is short the kernel kills the child first. */
static void oom_first(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = write(fd, "1000", 4);
        (void) n;
        close(fd);
    }
}

static void files_close(void)
{
    if (syscall(SYS_close_range, RESULT_FD + 1, ~0u, 0) == 0)
        return;
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = RESULT_FD + 1; fd < (most > 0 && most < 65536 ? (int) most : 65536); fd++)
        close(fd);
}

static bool all_write(int fd, const void *bytes, size_t n)
{
    for (const uint8_t *p = bytes; n;) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t) put;
    }
    return true;
}

int check_main(int argc, char **argv)
{
    uint64_t values[4];
    struct result r = { .magic = MAGIC };
    if (argc != 7 || fcntl(MODEL_FD, F_GETFD) < 0 || fcntl(RESULT_FD, F_GETFD) < 0) {
        fprintf(stderr, "rilld: --check-model is for rilld itself\n");
        return 2;
    }
    for (int i = 0; i < 4; i++)
        values[i] = strtoull(argv[3 + i], NULL, 10);
    files_close();
    oom_first();
    if (!limits_set(values[1], values[2])) {
        r.status = RILL_INTERNAL;
        snprintf(r.text, sizeof r.text, "no limits can be set for checking a model: %s",
                 strerror(errno));
    } else {
        struct model_load_request f = { .fd = MODEL_FD, .max_bytes = values[0] };
        snprintf(f.path, sizeof f.path, "%s", argv[2]);
        r.status = (uint32_t) model_load(&f);
        r.kept_bytes = f.kept_bytes;
        memcpy(r.sha256, f.model.info.sha256, sizeof r.sha256);
        memcpy(r.text, f.model.error.text, sizeof r.text);
    }
    return all_write(RESULT_FD, &r, sizeof r) ? 0 : 1;
}
