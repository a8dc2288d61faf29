/* SPDX-License-Identifier: MIT */
/* What flows, and what bounds it: conflation, socket buffers, memory, quotas, idling, disconnects.
 * The models are those of fake_rill.c. */
#include "tests/daemon/harness.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE 16000
#define PULSE 512
#define FAKE_HANG 0.765625f

/* ---- a client that never reads, and what the daemon did meanwhile ---- */

static int raw_open(const char *sock, const char *model, Rill__Pace pace, Rill__Enc enc)
{
    int fd = raw_hello(sock);
    OPEN_FRAME(f, m, 1, model, RATE, S16LE);
    m_in.enc = enc;
    m.pace = pace;
    CHECK(raw_frame(fd, &f));
    Rill__ServerFrame *a = raw_answer(fd, 10000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_OPENED);
    rill__server_frame__free_unpacked(a, NULL);
    return fd;
}

struct watcher {
    struct rill_client *c;
    uint64_t pulses, memory;
    unsigned n;
};

static void model_see(void *arg, const struct rill_client_model_stats *m)
{
    struct watcher *w = arg;
    w->pulses += m->pulses;
}

static void session_see(void *arg, const struct rill_client_session *s)
{
    struct watcher *w = arg;
    w->n++;
    w->memory += s->memory_bytes;
}

static void watcher_connect(struct watcher *w, const char *path)
{
    memset(w, 0, sizeof *w);
    CHECK_OF(w->c, rill_client_connect(&w->c, path, "watcher", 20000) == 0);
}

static struct rill_client_stats stats_now(struct watcher *w)
{
    struct rill_client_stats s = { 0 };
    w->pulses = 0;
    CHECK_OF(w->c, rill_client_stats(w->c, &s, model_see, w) == 0);
    return s;
}

static bool pulses_wait(struct watcher *w, uint64_t n)
{
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(500)) {
        stats_now(w);
        if (w->pulses >= n)
            return true;
    }
    return CHECK(false, "%llu of %llu pulses", LLU(w->pulses), LLU(n));
}

/* ---- conflation ---- */

#define VAD_FRAMES 600
#define VAD_START 300
#define VAD_STOP 320

/* The model says the largest sample of each pulse: each frame has a probability of its own. */
static float vad_level(unsigned k)
{
    return k >= VAD_START && k < VAD_STOP ? 0.9f : (float) (k + 1) / 4096;
}

static void test_vad_conflation(void)
{
    struct rig r;
    struct watcher w;
    float x[PULSE];
    unsigned n = 0, starts = 0, ends = 0, disorder = 0;
    uint64_t last = 0, start_pos = 0;
    float prob = -1;
    rig_start(&r, "preload = vad");
    watcher_connect(&w, r.sock);
    int fd = raw_open(r.sock, "vad", RILL__PACE__PACE_LIVE, RILL__ENC__ENC_F32LE);
    for (unsigned k = 0; k < VAD_FRAMES; k++) {
        for (int i = 0; i < PULSE; i++)
            x[i] = vad_level(k);
        if (!CHECK(raw_audio(fd, 1, k, (uint64_t) k * PULSE, false, x, PULSE)) ||
            !pulses_wait(&w, k + 1))
            break;
    }
    raw_finish(fd, 1);
    for (bool done = false; !done;) {
        Rill__ServerFrame *a = raw_answer(fd, 10000);
        if (!CHECK(a != NULL && a->m_case != RILL__SERVER_FRAME__M_ERROR))
            break;
        if (a->m_case == RILL__SERVER_FRAME__M_VAD) {
            disorder += n++ && a->vad->pos <= last;
            last = a->vad->pos;
            prob = a->vad->prob;
            starts += a->vad->edge == RILL__EDGE__EDGE_START;
            ends += a->vad->edge == RILL__EDGE__EDGE_END;
            start_pos = a->vad->edge == RILL__EDGE__EDGE_START ? a->vad->pos : start_pos;
        }
        done = a->m_case == RILL__SERVER_FRAME__M_FINISHED;
        if (done)
            CHECK(a->finished->vad_frames == VAD_FRAMES, "%llu frames",
                  LLU(a->finished->vad_frames));
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(starts == 1 && ends == 1 && start_pos == VAD_START * PULSE, "%u starts, %u ends", starts,
          ends);
    CHECK(n < VAD_FRAMES * 3 / 4 && n > 10 && !disorder,
          "%u of %u probabilities came, %u in disorder", n, VAD_FRAMES, disorder);
    CHECK(last == (VAD_FRAMES - 1) * PULSE && prob == vad_level(VAD_FRAMES - 1),
          "the newest is at %llu", LLU(last));
    close(fd);
    rig_done(&r, w.c);
}

/* ---- what the kernel holds for who does not read ---- */

static void test_socket_bytes(void)
{
    struct rig r;
    struct watcher w;
    float x[PULSE / 2] = { 0 }; /* PULSE samples of two bytes */
    uint8_t b[65536];
    size_t held = 0, hop = sizeof x + 64;
    rig_start(&r, "preload = wiener");
    watcher_connect(&w, r.sock);
    int fd = raw_open(r.sock, "wiener", RILL__PACE__PACE_LIVE, RILL__ENC__ENC_S16LE);
    for (uint32_t k = 0; k < 60; k++)
        if (!CHECK(raw_audio(fd, 1, k, (uint64_t) k * PULSE, false, x, PULSE / 2)) ||
            !pulses_wait(&w, k + 1))
            break;
    CHECK(rig_freeze(&r)); /* nothing follows what is read */
    for (ssize_t n; (n = recv(fd, b, sizeof b, MSG_DONTWAIT)) > 0;)
        held += (size_t) n;
    kill(r.pid, SIGCONT);
    printf("the kernel held %zu bytes, %.1f hops of %zu ms\n", held, (double) held / (double) hop,
           (size_t) PULSE * 1000 / RATE);
    CHECK(held >= 2 * hop && held <= 12 * hop, "%zu bytes", held);
    close(fd);
    rig_done(&r, w.c);
}

/* ---- memory that is accounted ---- */

static uint64_t memory_wait(struct watcher *w, uint64_t streams)
{
    struct rill_client_stats s = { 0 };
    for (uint64_t end = now_ms() + 10000; now_ms() < end; usleep(10000)) {
        s = stats_now(w);
        if (s.memory_streams_bytes == streams && (streams || !s.memory_topics_bytes))
            break;
    }
    CHECK(s.memory_streams_bytes == streams, "%llu bytes", LLU(s.memory_streams_bytes));
    return s.memory_connections_bytes;
}

static void test_memory(void)
{
    struct rig r;
    struct watcher w, ctl;
    struct rill_client_open o = { .model = "both", .in = { RATE, 1, RILL_CLIENT_S16 } };
    rig_start(&r, "preload = both");
    watcher_connect(&w, r.sock);
    watcher_connect(&ctl, r.ctl);
    uint64_t before = memory_wait(&w, 0);
    CHECK(before > 2 * 65536, "%llu bytes of two connections", LLU(before));
    struct rill_client *c = client_of(r.sock, "test");
    CHECK(rill_client_open(c, 1, &o, NULL) == 0 && rill_client_open(c, 2, &o, NULL) == 0);
    struct rill_client_stats s = stats_now(&w);
    CHECK(rill_client_ctl_sessions(ctl.c, session_see, &ctl) == 0 && ctl.n == 2);
    CHECK(s.memory_streams_bytes == ctl.memory && ctl.memory > 2 * 4096, "%llu and %llu bytes",
          LLU(s.memory_streams_bytes), LLU(ctl.memory));
    CHECK(s.memory_connections_bytes > before && s.memory_topics_bytes == 0);
    struct rill_client_publish p = { .topic = "t", .keep_ms = 2000 };
    CHECK(rill_client_publish(c, 2, &p, NULL) == 0);
    CHECK(stats_now(&w).memory_topics_bytes > RATE * sizeof(float)); /* a second of it */
    rill_client_free(c);
    CHECK(memory_wait(&w, 0) == before);
    CHECK(stats_now(&w).memory_topics_bytes == 0);
    rig_done(&r, w.c, ctl.c);
}

/* ---- quotas ---- */

static int open_code(struct rill_client *c, uint32_t id, const char *model,
                     enum rill_client_pace pace)
{
    struct rill_client_open o = { .model = model,
                                  .in = { RATE, 1, RILL_CLIENT_S16 },
                                  .pace = pace };
    return rill_client_open(c, id, &o, NULL) == 0 ? 0 : rill_client_error_code(c);
}

/* 0 if another user can open a stream of the model. */
static int other_user(const char *sock, const char *model, enum rill_client_pace pace)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rill_client *c = NULL;
        _exit(setgid(65534) < 0 || setuid(65534) < 0 ||
                      rill_client_connect(&c, sock, "other", 10000) < 0
                  ? 99
                  : open_code(c, 1, model, pace));
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void quota_run(const char *conf, const char *model, enum rill_client_pace pace,
                      uint32_t allowed, const char *words)
{
    struct rig r;
    struct rill_client *a = NULL, *b = NULL;
    rig_start(&r, conf);
    a = client_of(r.sock, "a");
    b = client_of(r.sock, "b");
    uint32_t n = 0;
    while (n < 64 && open_code(n % 2 ? b : a, n + 1, model, pace) == 0)
        n++;
    struct rill_client *refused = n % 2 ? b : a;
    CHECK(allowed ? n == allowed : n > 0 && n < 64, "%u streams", n);
    CHECK_OF(refused,
             rill_client_error_code(refused) == RILL__CODE__QUOTA &&
                 strstr(rill_client_error(refused), words));
    if (getuid() != 0 || chmod(r.dir, 0755) < 0)
        check_skip("another user's share: this is not root");
    else
        CHECK(other_user(r.sock, model, pace) == 0);
    CHECK(rill_client_cancel(a, 1) == 0);
    int code = RILL__CODE__QUOTA;
    for (uint64_t end = now_ms() + 10000; code && now_ms() < end; usleep(20000))
        code = open_code(a, 100, model, pace);
    CHECK_OF(a, code == 0);
    rig_done(&r, a, b);
}

static void test_quotas(void)
{
    quota_run("preload = wiener\n[daemon]\nsocket_mode = 0666\n[limits]\nmax_streams_per_uid = 3\n",
              "wiener", RILL_CLIENT_FILE, 3, "max_streams_per_uid");
    /* Each stream of `slow` claims a tenth of a thread, or more where the machine is busy; two
     * threads' worth of them for one user. */
    quota_run("preload = slow\n[daemon]\nsocket_mode = 0666\nworkers = 1\n[limits]\nrtf_budget = "
              "5\nrtf_share_per_uid = 0.4\n",
              "slow", RILL_CLIENT_LIVE, 0, "rtf_share_per_uid");
    quota_run(
        "preload = wiener\n[daemon]\nsocket_mode = 0666\n[limits]\nmax_bytes_per_uid = 3000000\n"
        "max_streams_per_connection = 64\n",
        "wiener", RILL_CLIENT_FILE, 0, "max_bytes_per_uid");
}

/* The rings of 192 kHz are larger than what is left, the model's memory is not. */
static void test_large_stream(void)
{
    struct rig r;
    struct rill_client_open o = OPEN(FILE, 192000, 1, F32, .model = "wiener");
    rig_start(&r, "preload = wiener\n[limits]\nmax_bytes_per_uid = 1500000\n");
    struct rill_client *c = client_of(r.sock, "large");
    for (uint32_t id = 1; id < 4; id++)
        CHECK_OF(c,
                 rill_client_open(c, id, &o, NULL) < 0 &&
                     rill_client_error_code(c) == RILL__CODE__QUOTA &&
                     strstr(rill_client_error(c), "max_bytes_per_uid"));
    CHECK_OF(c, open_code(c, 4, "wiener", RILL_CLIENT_FILE) == 0);
    rig_done(&r, c);
}

/* ---- idling ---- */

/* While the daemon itself stood still nobody was late: what a client said in time waits in the
 * socket. */
static void test_stood_still(void)
{
    struct rig r;
    uint8_t preface[8];
    rig_start(&r, "preload = wiener\n[limits]\nhello_timeout_ms = 2500\nidle_timeout_ms = 2500\n");
    int quiet = raw_hello(r.sock), fd = raw_connect(r.sock);
    CHECK(raw_send(fd, "RILL\1\0\0\0", 8) && raw_recv(fd, preface, 8, 15000) == 8);
    CHECK(rig_freeze(&r));
    CHECK(raw_send(fd, "\4\0\0\0\x08\1\x12\0", 8) && raw_send(quiet, "\4\0\0\0\x08\2\x42\0", 8));
    usleep(3500000);
    kill(r.pid, SIGCONT);
    Rill__ServerFrame *a = raw_answer(fd, 15000), *b = raw_answer(quiet, 15000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_HELLO, "%d", a ? (int) a->m_case : -1);
    CHECK(b && b->m_case == RILL__SERVER_FRAME__M_PONG, "%d", b ? (int) b->m_case : -1);
    rill__server_frame__free_unpacked(a, NULL);
    rill__server_frame__free_unpacked(b, NULL);
    close(fd);
    close(quiet);
    CHECK(rig_stop(&r) == 0);
}

/* What ends a stream is answered with its number, and a stream that ends is something said. */
static void test_ends_answered(void)
{
    struct rig r;
    rig_start(&r, "preload = wiener\n[limits]\nidle_timeout_ms = 1000\n");
    int fd = raw_open(r.sock, "wiener", RILL__PACE__PACE_FILE, RILL__ENC__ENC_F32LE);
    usleep(1500000); /* longer than the time: a stream is open */
    FRAME(f, m, Cancel, CANCEL, cancel);
    m.stream = 1;
    f.req = 77;
    CHECK(raw_frame(fd, &f));
    Rill__ServerFrame *a = raw_answer(fd, 10000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_FINISHED && a->finished->cancelled &&
          a->req == 77);
    rill__server_frame__free_unpacked(a, NULL);
    close(fd);
    CHECK(rig_stop(&r) == 0);
}

static void test_idle(void)
{
    struct rig r;
    struct result res = { 0 };
    rig_start(&r, "preload = wiener\n[limits]\nidle_timeout_ms = 1500\nidle_stream_ms = 1000\n");
    int fd = raw_hello(r.sock);
    struct rill_client *busy = client_of(r.sock, "busy");
    result_listen(busy, &res);
    Rill__ServerFrame *a = raw_answer(fd, 10000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_GOAWAY &&
          a->goaway->reason == RILL__GO_AWAY__REASON__REASON_IDLE);
    rill__server_frame__free_unpacked(a, NULL);
    CHECK(raw_closed(fd, 15000));
    close(fd);
    rill_client_free(busy);
    /* A live stream without audio ends, and says why; one of a file and its connection stay. */
    busy = client_of(r.sock, "busy");
    result_listen(busy, &res);
    CHECK(open_code(busy, 1, "wiener", RILL_CLIENT_LIVE) == 0 &&
          open_code(busy, 2, "wiener", RILL_CLIENT_FILE) == 0);
    for (uint64_t end = now_ms() + 10000; !rill_client_ended(busy, 1) && now_ms() < end;)
        rill_client_poll(busy, 100);
    CHECK_OF(busy,
             res.error_code == RILL__CODE__DEADLINE &&
                 strstr(rill_client_error(busy), "idle_stream_ms"));
    for (uint64_t end = now_ms() + 2500; now_ms() < end;)
        rill_client_poll(busy, 100);
    CHECK(!rill_client_ended(busy, 2) && !res.goaway);
    struct rill_client_finished fin;
    CHECK_OF(busy, rill_client_finish(busy, 2, &fin) == 0);
    rig_done(&r, busy);
}

/* ---- who disconnects is not computed for ---- */

/* Two pulses that hang wait when the client goes during the first. Then the second is not begun. */
static void test_disconnect(void)
{
    struct rig r;
    struct watcher w;
    float x[2 * PULSE] = { 0 };
    rig_start(&r, "preload = wiener\n[daemon]\nworkers = 1\n");
    watcher_connect(&w, r.sock);
    int fd = raw_open(r.sock, "wiener", RILL__PACE__PACE_FILE, RILL__ENC__ENC_F32LE);
    x[0] = x[PULSE] = FAKE_HANG;
    rig_hold(&r);
    CHECK(raw_audio(fd, 1, 0, 0, false, x, 2 * PULSE) && rig_held(&r, 1));
    CHECK(stats_now(&w).memory_streams_bytes > 0);
    close(fd);
    uint32_t n = 2;
    for (uint64_t end = now_ms() + 20000; n != 1 && now_ms() < end; usleep(10000))
        n = stats_now(&w).connections;
    CHECK(n == 1, "%u connections", n);
    rig_let_go(&r);
    memory_wait(&w, 0);
    CHECK(rig_holds(&r) == 1, "%u pulses were computed for nobody", rig_holds(&r));
    rig_done(&r, w.c);
}

/* ---- a socket that another program listens on is left to it, also where it knows nothing of our
 * lock ---- */

static void test_foreign_listener(void)
{
    struct rig r;
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    char *argv[] = { getenv("RILLD"), (char *) "--config", NULL, NULL };
    rig_dir(&r);
    rig_conf(&r, "preload = wiener");
    argv[2] = r.conf;
    snprintf(a.sun_path, sizeof a.sun_path, "%s", r.sock);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(fd, (struct sockaddr *) &a, sizeof a) == 0 && listen(fd, 4) == 0);
    rig_spawn(&r, argv);
    CHECK(rig_wait(&r, 20000) == 1 && strstr(rig_log(&r), "another program listens here"), "%s",
          rig_log(&r));
    int peer = raw_connect(r.sock);
    CHECK(peer >= 0);
    close(peer);
    close(fd); /* now nobody does: the path is taken over */
    rig_spawn(&r, argv);
    CHECK(rig_wait_ready(&r));
    CHECK(rig_stop(&r) == 0);
}

int main(void)
{
    test_vad_conflation();
    test_socket_bytes();
    test_memory();
    test_quotas();
    test_large_stream();
    test_idle();
    test_ends_answered();
    test_stood_still();
    test_disconnect();
    test_foreign_listener();
    return check_end();
}
