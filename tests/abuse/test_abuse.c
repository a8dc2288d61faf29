/* SPDX-License-Identifier: MIT */
/* What a hostile or broken client may do, one test each, beside a stream that is open all the time
 * and loses nothing. (tests/daemon/test_frame.c has the malformed bytes, test_stream.c the
 * formats.) */
#include "tests/faults/faults.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rig rig;

/* ---- messages by hand ---- */

static bool open_say(int fd, uint32_t id)
{
    OPEN_FRAME(f, o, id, "", 16000, F32LE);
    o.align = true;
    f.req = 50;
    return raw_frame(fd, &f);
}

/* Reads to the first message of the kind; errors on the way are counted. */
static Rill__ServerFrame *answer_of(int fd, Rill__ServerFrame__MCase want, unsigned *errors)
{
    Rill__ServerFrame *a;
    while ((a = raw_answer(fd, 15000)) && a->m_case != want) {
        *errors += a->m_case == RILL__SERVER_FRAME__M_ERROR;
        rill__server_frame__free_unpacked(a, NULL);
    }
    return a;
}

static int opened(uint32_t id)
{
    unsigned errors = 0;
    int fd = raw_hello(rig.sock);
    open_say(fd, id);
    Rill__ServerFrame *a = answer_of(fd, RILL__SERVER_FRAME__M_OPENED, &errors);
    CHECK(a && !errors);
    rill__server_frame__free_unpacked(a, NULL);
    return fd;
}

/* Finishes, and checks how many samples it says were received. */
static void finished_check(int fd, uint32_t id, uint64_t in, uint64_t dropped, unsigned want_errors)
{
    unsigned errors = 0;
    raw_finish(fd, id);
    Rill__ServerFrame *a = answer_of(fd, RILL__SERVER_FRAME__M_FINISHED, &errors);
    if (CHECK(a != NULL)) {
        CHECK(a->finished->in == in && a->finished->dropped == dropped, "in %llu, dropped %llu",
              LLU(a->finished->in), LLU(a->finished->dropped));
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(errors == want_errors, "%u errors", errors);
    close(fd);
}

/* ---- the list ---- */

static void test_reset_mid_frame(void)
{
    for (int i = 0; i < 50; i++) {
        int fd = opened(1);
        float x[400] = { 0 };
        raw_audio(fd, 1, 0, 0, false, x, 400); /* unread answers: closing is a reset */
        raw_send(fd, "\x40\1\0\0\x08", 5);
        close(fd);
    }
    CHECK(rig_lives(&rig));
}

static void test_seq_wraps(void)
{
    float x[160] = { 0 };
    int fd = opened(1);
    raw_audio(fd, 1, 0xfffffffe, 0, true, x, 160);
    raw_audio(fd, 1, 0xffffffff, 160, false, x, 160);
    raw_audio(fd, 1, 0, 320, false, x, 160);
    raw_audio(fd, 1, 1, 480, false, x, 160);
    finished_check(fd, 1, 640, 0, 0);
}

static void test_pos_past_32_bits(void)
{
    float x[160] = { 0 };
    const uint64_t far = (UINT64_C(1) << 32) - 100;
    int fd = opened(1);
    raw_audio(fd, 1, 0, 0, false, x, 160);
    raw_audio(fd, 1, 1, far, true, x, 160);
    raw_audio(fd, 1, 2, far + 160, false, x, 160); /* over 2^32 */
    finished_check(fd, 1, 480, far - 160, 0);
}

static void test_empty_audio(void)
{
    float x[160] = { 0 };
    int fd = opened(1);
    for (uint32_t i = 0; i < 1000; i++)
        raw_audio(fd, 1, i, 0, false, x, 0);
    raw_audio(fd, 1, 1000, 0, false, x, 160);
    finished_check(fd, 1, 160, 0, 0);
    finished_check(opened(1), 1, 0, 0, 0); /* a stream of nothing */
}

static void test_hard_samples(void)
{
    static const float values[] = { 1e-39f,   -1e-45f, 1,        -1,       3.4e38f,
                                    -3.4e38f, NAN,     INFINITY, -INFINITY };
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = true);
        static float x[8000];
        struct result r;
        char err[512];
        for (int i = 0; i < 8000; i++)
            x[i] = i / 40 % 2 ? values[k] : -values[k];
        if (CHECK(stream_whole(rig.sock, &o, x, 8000, 4, 441, &r, err), "%g: %s",
                  (double) values[k], err)) {
            bool finite = r.bytes == 32000;
            for (size_t i = 0; i < r.bytes / 4; i++) {
                float y;
                memcpy(&y, r.pcm + 4 * i, 4);
                finite &= isfinite(y) != 0;
            }
            CHECK(finite && r.fin.not_finite == (isfinite(values[k]) ? 0u : 8000u), "%g",
                  (double) values[k]);
        }
        result_free(&r);
    }
}

static void test_idle_thousand(void)
{
    static int fds[1000];
    uint64_t rss = rss_kib(&rig);
    unsigned before = fds_of(&rig), served = 0;
    for (int i = 0; i < 1000; i++)
        fds[i] = raw_connect(rig.sock);
    usleep(500000);
    struct result r;
    char err[512];
    CHECK(session_play(&rig, NULL, &r, err), "beside a thousand idle ones: %s", err);
    result_free(&r);
    CHECK(rss_kib(&rig) < rss + 1000 * 128, "%llu KiB for a thousand", LLU((rss_kib(&rig) - rss)));
    for (int i = 0; i < 1000; i++) {
        served += fds[i] >= 0 && raw_closed(fds[i], 20000); /* hello_timeout_ms */
        close(fds[i]);
    }
    CHECK(served == 1000, "%u of 1000 were sent away", served);
    CHECK(wait_fds(&rig, before), "%u descriptors, %u before", fds_of(&rig), before);
}

static void test_churn(void)
{
    unsigned before = fds_of(&rig);
    uint64_t start = now_ms();
    for (int i = 0; i < 2000; i++) {
        int fd = raw_connect(rig.sock);
        if (i % 2)
            raw_send(fd, "RILL\1\0\0\0", 8);
        close(fd);
    }
    printf("2000 connections in %llu ms\n", LLU((now_ms() - start)));
    CHECK(wait_fds(&rig, before), "%u descriptors, %u before", fds_of(&rig), before);
}

/* Descriptors that come along are none of the daemon's. */
static void test_passed_fds(void)
{
    unsigned before = fds_of(&rig);
    int fd = raw_hello(rig.sock), pass = dup(1);
    for (int i = 0; i < 200; i++) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
        static const uint8_t ping[] = { 4, 0, 0, 0, 8, 9, 0x42, 0 };
        struct iovec v = { .iov_base = (void *) (uintptr_t) ping, .iov_len = sizeof ping };
        struct msghdr m = {
            .msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control
        };
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        int fds[16];
        for (int k = 0; k < 16; k++)
            fds[k] = pass;
        *c = (struct cmsghdr) { .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS,
                                .cmsg_len = CMSG_LEN(sizeof fds) };
        memcpy(CMSG_DATA(c), fds, sizeof fds);
        if (sendmsg(fd, &m, MSG_NOSIGNAL) < 0)
            break;
        unsigned errors = 0;
        Rill__ServerFrame *a = answer_of(fd, RILL__SERVER_FRAME__M_PONG, &errors);
        if (!CHECK(a != NULL))
            break;
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(fds_of(&rig) <= before + 1, "%u descriptors, %u before", fds_of(&rig), before);
    close(fd);
    close(pass);
}

/* Sends and never reads: told SLOW_CONSUMER or held back by credit, at bounded memory. */
static void test_never_reads(void)
{
    static float x[1600];
    uint64_t rss = rss_kib(&rig), pos = 0;
    int fd = raw_hello(rig.sock);
    struct timeval t = { .tv_sec = 1 };
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    open_say(fd, 1);
    usleep(300000); /* Opened is there, unread */
    for (uint32_t i = 0; i < 200 && raw_audio(fd, 1, i, pos, false, x, 1600); i++)
        pos += 1600;
    CHECK(rss_kib(&rig) < rss + 8192, "%llu KiB more", LLU((rss_kib(&rig) - rss)));
    close(fd);
}

int main(void)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = true);
    struct rill_client_finished fin = { 0 };
    static float x[16000];
    struct rlimit l = { 4096, 4096 };
    bool many = setrlimit(RLIMIT_NOFILE, &l) == 0;
    rig_start(&rig,
              "[limits]\nhello_timeout_ms = 4000\nmax_connections = 2000\nmax_connections_per_uid "
              "= 2000\n");
    struct rill_client *bystander = client_of(rig.sock, "bystander");
    CHECK(rill_client_open(bystander, 1, &o, NULL) == 0 &&
          rill_client_send(bystander, 1, x, sizeof x) == 0);
    test_reset_mid_frame();
    test_seq_wraps();
    test_pos_past_32_bits();
    test_empty_audio();
    test_hard_samples();
    if (many)
        test_idle_thousand();
    else
        check_skip("a thousand connections: so many descriptors are not allowed here");
    test_churn();
    test_passed_fds();
    test_never_reads();
    CHECK_OF(bystander,
             rill_client_send(bystander, 1, x, sizeof x) == 0 &&
                 rill_client_finish(bystander, 1, &fin) == 0);
    CHECK(fin.in == 32000 && fin.out == 32000 && fin.dropped == 0);
    rig_done(&rig, bystander);
    return check_end();
}
