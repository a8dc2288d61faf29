/* SPDX-License-Identifier: MIT */
#include "tests/daemon/harness.h"
#include "tests/daemon/fake_rill.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RAW_HELLO_MS 20000

unsigned n_passed, n_failed, n_skipped, stream_timeout_ms = 30000;

bool check_note(const char *file, int line, const char *text, int good, ...)
{
    va_list ap;
    if (good) {
        n_passed++;
        return true;
    }
    n_failed++;
    printf("%s:%d: not so: %s: ", file, line, text);
    va_start(ap, good);
    const char *format = va_arg(ap, const char *);
    if (format)
        vprintf(format, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    return false;
}

void check_skip(const char *what)
{
    n_skipped++;
    printf("skipped: %s\n", what);
}

int check_end(void)
{
    printf("%u passed, %u failed, %u skipped\n", n_passed, n_failed, n_skipped);
    return n_failed ? 1 : n_passed ? 0 : 77;
}

static char newest_log[sizeof((struct rig *) NULL)->log];

static void log_end_print(const char *path)
{
    char text[4096];
    FILE *f = fopen(path, "r");
    if (f && fseek(f, 1 - (long) sizeof text, SEEK_END) < 0)
        rewind(f);
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    printf("the end of the daemon's log:\n%s\n", n ? text : "(nothing)");
    fflush(stdout);
}

void give_up(const char *format, ...)
{
    va_list ap;
    n_failed++;
    printf("gave up: ");
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
    if (newest_log[0])
        log_end_print(newest_log);
    exit(check_end());
}

bool is_fake(void)
{
    const char *e = getenv("RILL_FAKE");
    return e && *e == '1';
}

uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float) (int32_t) *seed * 0x1p-32f;
}

/* ---- a daemon ---- */

void rig_dir(struct rig *r)
{
    memset(r, 0, sizeof *r);
    r->failed_before = n_failed;
    snprintf(r->dir, sizeof r->dir, "/tmp/rilld-test-XXXXXX");
    if (!mkdtemp(r->dir))
        give_up("no folder %s: %s", r->dir, strerror(errno));
    snprintf(r->sock, sizeof r->sock, "%s/s", r->dir);
    snprintf(r->ctl, sizeof r->ctl, "%s/c", r->dir);
    snprintf(r->conf, sizeof r->conf, "%s/rilld.conf", r->dir);
    snprintf(r->log, sizeof r->log, "%s/log", r->dir);
}

/* A key of ours, unless `more` has it: a file says each once. */
static void conf_put(FILE *f, const char *more, const char *key, const char *value)
{
    char line[64];
    snprintf(line, sizeof line, "%s =", key);
    if (!strstr(more, line))
        fprintf(f, "%s %s\n", line, value);
}

void rig_conf(struct rig *r, const char *more)
{
    FILE *f = fopen(r->conf, "w");
    char models[sizeof r->dir + 8];
    if (!f)
        give_up("%s: %s", r->conf, strerror(errno));
    fprintf(f, "[daemon]\nsocket = %s\ncontrol_socket = %s\n", r->sock, r->ctl);
    conf_put(f, more, "workers", "2");
    fprintf(f, "[limits]\n");
    conf_put(f, more, "rtf_budget", "1000");
    conf_put(f, more, "hello_timeout_ms", "20000");
    fprintf(f, "[overload]\n");
    conf_put(f, more, "policy", "off");
    fprintf(f, "[models]\n");
    snprintf(models, sizeof models, "%s/models", r->dir);
    conf_put(f, more, "model_path", models);
    fprintf(f, "%s\n", more);
    fclose(f);
}

bool rig_watches;

static void stalls_make(const char *path)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct fake_stalls)) < 0)
        give_up("%s: %s", path, strerror(errno));
    close(fd);
}

static void stalls_read(struct rig *r, struct fake_stalls *ret)
{
    char path[96];
    snprintf(path, sizeof path, "%s/stalls", r->dir);
    FILE *f = fopen(path, "r");
    if (!f || fread(ret, sizeof *ret, 1, f) != 1)
        give_up("%s: %s", path, strerror(errno));
    fclose(f);
}

uint64_t rig_slept_us(struct rig *r)
{
    struct fake_stalls s;
    stalls_read(r, &s);
    return s.asked_us;
}

bool rig_disturbed(struct rig *r)
{
    struct fake_stalls s;
    stalls_read(r, &s);
    bool disturbed = s.n || s.lost_us > s.asked_us / 2;
    if (disturbed)
        printf("the machine stood still %llu times, and kept models for %llu us beyond the %llu "
               "that they asked for\n",
               LLU(s.n), LLU(s.lost_us), LLU(s.asked_us));
    return disturbed;
}

bool runs_judge(enum run_verdict (*run)(void *arg), void *arg, const char *what)
{
    for (int k = 0; k < 5; k++) {
        enum run_verdict v = run(arg);
        if (v != RUN_DISTURBED)
            return v == RUN_GOOD;
    }
    printf("%s: the machine let no run be judged\n", what);
    check_skip(what);
    return true;
}

pid_t rig_fork(struct rig *r)
{
    char hold[96], stalls[96] = "";
    if (rig_watches) {
        snprintf(stalls, sizeof stalls, "%s/stalls", r->dir);
        stalls_make(stalls);
    }
    memcpy(newest_log, r->log, sizeof newest_log);
    r->pid = fork();
    if (r->pid != 0)
        return r->pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that dies leaves nobody behind */
    snprintf(hold, sizeof hold, "%s/hold", r->dir);
    setenv("RILL_FAKE_HOLD", hold, 1);
    setenv("RILL_FAKE_STALLS", stalls, 1);
    dup2(open(r->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), 2);
    return 0;
}

bool rig_spawn(struct rig *r, char *const argv[])
{
    if (rig_fork(r) == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    return r->pid > 0;
}

bool rig_wait_ready(struct rig *r)
{
    for (uint64_t end = now_ms() + 30000; now_ms() < end; usleep(10000)) {
        int status, fd = raw_connect(r->sock);
        if (fd >= 0) {
            close(fd);
            return true;
        }
        if (waitpid(r->pid, &status, WNOHANG) == r->pid)
            break;
    }
    printf("the daemon did not start:\n%s", rig_log(r));
    return false;
}

bool rig_run(struct rig *r)
{
    char *argv[] = { getenv("RILLD"), (char *) "--config", r->conf, NULL };
    return argv[0] && rig_spawn(r, argv);
}

int rig_run_notified(struct rig *r, const char *name, const char *watchdog_usec)
{
    int fd = message_listen(name);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", watchdog_usec, 1);
    rig_run(r);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    CHECK(notified(fd, "READY=1", 30000, NULL));
    return fd;
}

void rig_start(struct rig *r, const char *more)
{
    rig_dir(r);
    rig_conf(r, more);
    if (!rig_run(r) || !rig_wait_ready(r))
        give_up("the daemon did not start");
}

int rig_wait(struct rig *r, int timeout_ms)
{
    int status = -1;
    for (uint64_t end = now_ms() + (uint64_t) timeout_ms; now_ms() < end; usleep(5000)) {
        if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
            r->pid = 0;
            if (WIFSIGNALED(status))
                printf("the daemon was killed by signal %d\n%s", WTERMSIG(status), rig_log(r));
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
    }
    printf("the daemon did not stop:\n%s", rig_log(r));
    kill(r->pid, SIGKILL);
    waitpid(r->pid, &status, 0);
    r->pid = 0;
    return -1;
}

void rig_clean(struct rig *r)
{
    char cmd[128];
    if (n_failed > r->failed_before)
        log_end_print(r->log);
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", r->dir);
    if (system(cmd) != 0)
        printf("left behind: %s\n", r->dir);
}

int rig_stop(struct rig *r)
{
    kill(r->pid, SIGTERM);
    int rc = rig_wait(r, 30000);
    if (rc != 0)
        printf("exit code %d, log:\n%s", rc, rig_log(r));
    rig_clean(r);
    return rc;
}

void rig_end(struct rig *r, struct rill_client *const *clients)
{
    while (*clients)
        rill_client_free(*clients++);
    CHECK(rig_stop(r) == 0);
}

bool rig_freeze(struct rig *r)
{
    int status = 0;
    if (kill(r->pid, SIGSTOP) == 0 && waitpid(r->pid, &status, WUNTRACED) == r->pid &&
        WIFSTOPPED(status))
        return true;
    printf("the daemon could not be stopped: status %x\n", (unsigned) status);
    return false;
}

void rig_hold(struct rig *r)
{
    char path[96];
    snprintf(path, sizeof path, "%s/hold", r->dir);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        give_up("%s: %s", path, strerror(errno));
    close(fd);
}

unsigned rig_holds(struct rig *r)
{
    char path[96];
    struct stat st;
    snprintf(path, sizeof path, "%s/hold.n", r->dir);
    return stat(path, &st) == 0 ? (unsigned) st.st_size : 0;
}

bool rig_held(struct rig *r, unsigned n)
{
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(2000))
        if (rig_holds(r) >= n)
            return true;
    printf("%u pulses hang, not %u\n", rig_holds(r), n);
    return false;
}

void rig_let_go(struct rig *r)
{
    char path[96];
    snprintf(path, sizeof path, "%s/hold", r->dir);
    if (unlink(path) < 0)
        give_up("%s: %s", path, strerror(errno));
}

const char *rig_log(struct rig *r)
{
    static char text[1 << 18];
    FILE *f = fopen(r->log, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f)
        fclose(f);
    return text;
}

bool rig_log_has(struct rig *r, const char *text, int timeout_ms)
{
    uint64_t end = now_ms() + (uint64_t) timeout_ms;
    while (!strstr(rig_log(r), text)) {
        if (now_ms() >= end)
            return false;
        usleep(20000);
    }
    return true;
}

/* ---- raw bytes ---- */

int raw_connect(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *) &a, sizeof a) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool raw_send(int fd, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    while (n) {
        ssize_t w = send(fd, p, n, MSG_NOSIGNAL);
        if (w <= 0)
            return false;
        p += w;
        n -= (size_t) w;
    }
    return true;
}

ssize_t raw_recv(int fd, void *bytes, size_t n, int timeout_ms)
{
    uint8_t *p = bytes;
    for (size_t have = 0; have < n;) {
        struct pollfd pf = { .fd = fd, .events = POLLIN };
        if (poll(&pf, 1, timeout_ms) <= 0)
            return -1;
        ssize_t r = recv(fd, p + have, n - have, 0);
        if (r <= 0)
            return 0;
        have += (size_t) r;
    }
    return (ssize_t) n;
}

bool raw_closed(int fd, int timeout_ms)
{
    char b[4096];
    for (;;) {
        struct pollfd pf = { .fd = fd, .events = POLLIN };
        if (poll(&pf, 1, timeout_ms) <= 0)
            return false;
        if (recv(fd, b, sizeof b, 0) <= 0)
            return true;
    }
}

bool raw_preface(int fd)
{
    uint8_t b[8];
    return raw_send(fd, "RILL\1\0\0\0", 8) && raw_recv(fd, b, 8, RAW_HELLO_MS) == 8 &&
        memcmp(b, "RILL\1\0\0\0", 8) == 0;
}

size_t frame_make(uint8_t *to, size_t cap, const Rill__ClientFrame *f)
{
    size_t n = rill__client_frame__get_packed_size(f);
    if (n + 4 > cap)
        give_up("a frame of %zu bytes does not fit into %zu", n, cap);
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t) (n >> (8 * i));
    rill__client_frame__pack(f, to + 4);
    return n + 4;
}

bool raw_frame(int fd, const Rill__ClientFrame *f)
{
    static uint8_t b[1 << 20];
    return raw_send(fd, b, frame_make(b, sizeof b, f));
}

bool raw_burst(int fd, const Rill__ClientFrame *f, unsigned n)
{
    uint8_t one[64];
    size_t bytes = frame_make(one, sizeof one, f);
    uint8_t *all = malloc(bytes * n);
    for (unsigned i = 0; all && i < n; i++)
        memcpy(all + i * bytes, one, bytes);
    bool good = all && raw_send(fd, all, bytes * n);
    free(all);
    return good;
}

bool raw_say(int fd, Rill__ClientFrame__MCase which, void *m, uint32_t req)
{
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;
    f.req = req;
    f.m_case = which;
    f.ping = m; /* any member: they share their place */
    return raw_frame(fd, &f);
}

bool raw_audio(int fd, uint32_t id, uint32_t seq, uint64_t pos, bool discont, const float *x,
               size_t n)
{
    Rill__Audio a = RILL__AUDIO__INIT;
    a.stream = id;
    a.seq = seq;
    a.pos = pos;
    a.discont = discont;
    a.pcm.data = (uint8_t *) (uintptr_t) x;
    a.pcm.len = n * sizeof *x;
    return raw_say(fd, RILL__CLIENT_FRAME__M_AUDIO, &a, 0);
}

bool raw_finish(int fd, uint32_t id)
{
    Rill__Finish f = RILL__FINISH__INIT;
    f.stream = id;
    return raw_say(fd, RILL__CLIENT_FRAME__M_FINISH, &f, 0);
}

Rill__ServerFrame *raw_answer(int fd, int timeout_ms)
{
    static uint8_t b[1 << 20];
    uint8_t len[4];
    if (raw_recv(fd, len, 4, timeout_ms) != 4)
        return NULL;
    size_t n = len[0] | (size_t) len[1] << 8 | (size_t) len[2] << 16;
    if (n > sizeof b || raw_recv(fd, b, n, timeout_ms) != (ssize_t) n)
        return NULL;
    return rill__server_frame__unpack(NULL, n, b);
}

Rill__ServerFrame *raw_ask(int fd, const Rill__ClientFrame *f, int timeout_ms)
{
    return raw_frame(fd, f) ? raw_answer(fd, timeout_ms) : NULL;
}

static Rill__ServerFrame *hello(const char *path, uint32_t max_frame, int *ret_fd)
{
    int fd = *ret_fd = raw_connect(path);
    FRAME(f, h, Hello, HELLO, hello);
    h.client = (char *) (uintptr_t) "test";
    h.max_frame = max_frame;
    f.req = 1;
    if (fd < 0)
        give_up("nobody listens at %s: %s", path, strerror(errno));
    if (!raw_preface(fd) || !raw_frame(fd, &f))
        give_up("no preface from %s", path);
    Rill__ServerFrame *a = raw_answer(fd, RAW_HELLO_MS);
    if (!a || a->m_case != RILL__SERVER_FRAME__M_HELLO)
        give_up("no Hello from %s, but %s", path,
                !a                                             ? "the end or silence"
                    : a->m_case == RILL__SERVER_FRAME__M_ERROR ? a->error->text
                                                               : "another answer");
    return a;
}

int raw_hello(const char *path)
{
    int fd;
    rill__server_frame__free_unpacked(hello(path, 0, &fd), NULL);
    return fd;
}

int raw_hello_small(const char *path, uint32_t max_frame)
{
    int fd;
    Rill__ServerFrame *a = hello(path, max_frame, &fd);
    CHECK(a->req == 1);
    CHECK(a->hello->max_frame == max_frame);
    CHECK(rill__server_frame__get_packed_size(a) <= max_frame);
    rill__server_frame__free_unpacked(a, NULL);
    return fd;
}

int raw_error(int fd, int timeout_ms)
{
    Rill__ServerFrame *a;
    while ((a = raw_answer(fd, timeout_ms))) {
        int code = a->m_case == RILL__SERVER_FRAME__M_ERROR ? (int) a->error->code : 0;
        rill__server_frame__free_unpacked(a, NULL);
        if (code)
            return code;
    }
    return 0;
}

/* ---- messages and programs ---- */

int message_listen(const char *name)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    size_t n = strlen(name);
    memcpy(a.sun_path, name, n);
    if (name[0] == '@')
        a.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 &&
          bind(fd, (struct sockaddr *) &a,
               (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n + (name[0] == '/'))) == 0);
    return fd;
}

bool message_next(int fd, uint64_t end_ms, char *text, size_t cap)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    for (uint64_t now; (now = now_ms()) < end_ms;) {
        if (poll(&p, 1, (int) (end_ms - now)) <= 0)
            continue;
        ssize_t n = recv(fd, text, cap - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        return true;
    }
    return false;
}

bool notified(int fd, const char *what, int timeout_ms, unsigned *ret_pets)
{
    char text[2048];
    uint64_t end = now_ms() + (uint64_t) timeout_ms;
    while (message_next(fd, end, text, sizeof text)) {
        if (ret_pets)
            *ret_pets += strstr(text, "WATCHDOG=1") != NULL;
        if (strstr(text, what))
            return true;
    }
    return false;
}

const char *program_says(const char *program, const char *arguments, int *ret_code)
{
    static char text[1 << 18];
    char command[1024];
    snprintf(command, sizeof command, "timeout 60 '%s' %s 2>&1", program, arguments);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    *ret_code = f ? WEXITSTATUS(pclose(f)) : -1;
    return text;
}

/* ---- whole streams ---- */

static void on_audio(void *arg, const struct rill_client_audio *a)
{
    struct result *r = arg;
    if (r->bytes + a->bytes > r->cap) {
        r->cap = (r->bytes + a->bytes) * 2;
        r->pcm = realloc(r->pcm, r->cap);
    }
    memcpy(r->pcm + r->bytes, a->pcm, a->bytes);
    if (!r->n_audio++)
        r->first_pos = a->pos;
    else
        r->pos_good &= a->pos == r->next_pos;
    r->next_pos = a->pos + a->bytes / (r->frame_bytes ? r->frame_bytes : 1);
    r->bytes += a->bytes;
}

static void on_vad(void *arg, const struct rill_client_vad *v)
{
    struct result *r = arg;
    if (r->n_vad == r->probs_cap) {
        r->probs_cap = r->probs_cap ? 2 * r->probs_cap : 256;
        r->probs = realloc(r->probs, r->probs_cap * sizeof *r->probs);
    }
    r->probs[r->n_vad++] = v->prob;
    r->vad_pos = v->pos;
    if (v->edge == RILL_CLIENT_EDGE_START && !r->n_start++)
        r->start_pos = v->pos;
    if (v->edge == RILL_CLIENT_EDGE_END && !r->n_end++)
        r->end_pos = v->pos;
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    struct result *r = arg;
    r->n_gap++;
    *(g->fill == RILL__GAP__FILL__FILL_BYPASS ? &r->gap_bypassed : &r->gap_dropped) +=
        g->reason == RILL__GAP__REASON__REASON_RESET ? 0 : g->samples;
    r->gap = *g;
}

static void on_error(void *arg, const struct rill_client_failure *e)
{
    struct result *r = arg;
    r->error_code = e->code;
}

static void on_goaway(void *arg, uint32_t grace_ms)
{
    struct result *r = arg;
    (void) grace_ms;
    r->goaway = true;
}

void result_listen(struct rill_client *c, struct result *r)
{
    struct rill_client_events ev = { .arg = r,
                                     .audio = on_audio,
                                     .vad = on_vad,
                                     .gap = on_gap,
                                     .error = on_error,
                                     .goaway = on_goaway };
    r->pos_good = true;
    rill_client_set_events(c, &ev);
}

struct rill_client *client_of(const char *sock, const char *name)
{
    struct rill_client *c = NULL;
    CHECK_OF(c, rill_client_connect(&c, sock, name, 30000) == 0);
    return c;
}

void result_free(struct result *r)
{
    free(r->pcm);
    free(r->probs);
    memset(r, 0, sizeof *r);
}

bool stream_whole(const char *sock, const struct rill_client_open *o, const void *pcm,
                  size_t n_frames, size_t frame_bytes, size_t piece_frames, struct result *ret,
                  char err[512])
{
    struct rill_client *c = NULL;
    const uint8_t *p = pcm;
    static const size_t enc_bytes[] = { 0, 2, 3, 4, 4 };
    const struct rill_client_pcm *out = o->out.rate ? &o->out : &o->in;
    memset(ret, 0, sizeof *ret);
    if ((unsigned) out->enc <= 4)
        ret->frame_bytes = enc_bytes[out->enc] * out->channels;
    bool good = rill_client_connect(&c, sock, "test", stream_timeout_ms) == 0;
    if (good) {
        result_listen(c, ret);
        good = rill_client_open(c, 7, o, &ret->opened) == 0;
    }
    for (size_t at = 0; good && at < n_frames; at += piece_frames) {
        size_t n = n_frames - at < piece_frames ? n_frames - at : piece_frames;
        good = rill_client_send(c, 7, p + at * frame_bytes, n * frame_bytes) == 0;
    }
    good = good && rill_client_finish(c, 7, &ret->fin) == 0;
    snprintf(err, 512, "%s", good ? "" : rill_client_error(c));
    rill_client_free(c);
    return good;
}
