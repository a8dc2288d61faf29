/* SPDX-License-Identifier: MIT */
#include "tests/faults/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_FRAMES 6000
#define PIECE_FRAMES 480

struct fault_page *page;
static char page_path[64];

const char *fault_name(enum fault_kind kind)
{
    static const char *const names[] = {
#define X(e, name) [FAULT_##e] = name,
        FAULT_EACH(X)
#undef X
    };
    return names[kind];
}

bool faults_long(void)
{
    const char *e = getenv("FAULTS_LONG");
    return e && *e == '1';
}

bool fault_sanitized(void)
{
    const char *e = getenv("SANITIZE");
    return e && *e && strcmp(e, "none") != 0;
}

bool fault_none(void)
{
    if (fault_sanitized())
        printf("0 passed, 0 failed, 1 skipped\n");
    return fault_sanitized();
}

static void page_remove(void)
{
    unlink(page_path);
}

void fault_page_make(void)
{
    snprintf(page_path, sizeof page_path, "/tmp/rill-fault-XXXXXX");
    int fd = mkstemp(page_path);
    if (fd < 0 || ftruncate(fd, sizeof *page) < 0)
        give_up("no page %s: %s", page_path, strerror(errno));
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        give_up("%s cannot be mapped: %s", page_path, strerror(errno));
    close(fd);
    atexit(page_remove);
}

bool fault_spawn(struct rig *r, const char *more)
{
    char *argv[] = { getenv("RILLD"), (char *) (uintptr_t) "--config", NULL, NULL };
    rig_dir(r);
    rig_conf(r, more);
    argv[2] = r->conf;
    setenv("FAULT_PAGE", page_path, 1);
    setenv("LD_PRELOAD", getenv("FAULT_SHIM"), 1);
    bool good = rig_spawn(r, argv);
    unsetenv("LD_PRELOAD");
    return good;
}

void fault_rig(struct rig *r, const char *more)
{
    if (!fault_spawn(r, more) || !rig_wait_ready(r))
        give_up("the daemon did not start");
}

void fault_arm(enum fault_kind kind, uint64_t at, bool forever, int error)
{
    atomic_store(&page->kind, FAULT_NONE);
    atomic_store(&page->calls, 0);
    atomic_store(&page->hits, 0);
    atomic_store(&page->at, at);
    atomic_store(&page->forever, forever);
    atomic_store(&page->error, (uint32_t) error);
    atomic_store(&page->kind, kind);
}

uint64_t fault_disarm(void)
{
    atomic_store(&page->kind, FAULT_NONE);
    return atomic_load(&page->hits);
}

uint64_t fault_next(uint64_t n)
{
    return faults_long() || n < 16 ? n + 1 : n + n / 8;
}

/* ---- what the kernel says of the daemon ---- */

unsigned fds_of(const struct rig *r)
{
    char path[64];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int) r->pid);
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n > 2 ? n - 2 : 0;
}

bool wait_fds(const struct rig *r, unsigned want)
{
    for (uint64_t end = now_ms() + 20000; fds_of(r) > want; usleep(20000))
        if (now_ms() > end)
            return false;
    return true;
}

uint64_t rss_kib(const struct rig *r)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int) r->pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %llu", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib;
}

bool rig_lives(struct rig *r)
{
    int status;
    if (!r->pid || waitpid(r->pid, &status, WNOHANG) == 0)
        return r->pid != 0;
    if (WIFSIGNALED(status))
        printf("the daemon was killed by signal %d:\n%s", WTERMSIG(status), rig_log(r));
    else
        printf("the daemon ended with %d:\n%s", WEXITSTATUS(status), rig_log(r));
    r->pid = 0;
    return false;
}

/* ---- sessions ---- */

bool session_play(const struct rig *r, const char *model, struct result *ret, char err[512])
{
    static float x[N_FRAMES];
    struct rill_client_open o = OPEN(FILE, 24000, 1, F32, .model = model, .align = true);
    uint32_t seed = 31;
    for (int i = 0; i < N_FRAMES; i++)
        x[i] = noise(&seed);
    return stream_whole(r->sock, &o, x, N_FRAMES, sizeof *x, PIECE_FRAMES, ret, err);
}

static size_t first_difference(const struct result *a, const struct result *b)
{
    size_t i = 0, n = a->bytes < b->bytes ? a->bytes : b->bytes;
    while (i < n && a->pcm[i] == b->pcm[i])
        i++;
    return i;
}

bool result_same(const struct result *a, const struct result *b)
{
    if (a->bytes == b->bytes && a->bytes && memcmp(a->pcm, b->pcm, a->bytes) == 0 &&
        a->fin.in == b->fin.in && a->fin.out == b->fin.out)
        return true;
    printf("%zu bytes against %zu, in %llu against %llu, out %llu against %llu, dropped %llu; the "
           "first difference is at %zu\n",
           a->bytes, b->bytes, LLU(a->fin.in), LLU(b->fin.in), LLU(a->fin.out), LLU(b->fin.out),
           LLU(a->fin.dropped), first_difference(a, b));
    return false;
}
