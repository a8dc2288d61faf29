/* SPDX-License-Identifier: MIT */
/* One client after the other: who sends thousands of messages at once neither keeps the others
 * waiting nor fills the daemon's memory with answers that it does not read, and who opens and
 * closes streams takes no more places than one user may. */
#include "tests/daemon/harness.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define LATE_MESSAGES 12000
#define INFOS 10000
#define CHURNS 24
#define RESETS 2000

/* Adds the messages that open a stream and cancel it. */
static bool open_close(uint8_t *to, size_t *at, size_t cap, uint32_t id)
{
    OPEN_FRAME(open, o, id, "", 16000, S16LE);
    FRAME(cancel, x, Cancel, CANCEL, cancel);
    x.stream = id;
    size_t n = frame_make(to + *at, cap - *at, &open);
    *at += n;
    size_t m = n ? frame_make(to + *at, cap - *at, &cancel) : 0;
    *at += m;
    return n && m;
}

static bool ping_send(int fd)
{
    FRAME(f, ping, Ping, PING, ping);
    return raw_frame(fd, &f);
}

/* When the daemon answered a ping; 0 = it did not. */
static uint64_t pong_us(int fd)
{
    Rill__ServerFrame *a;
    uint64_t us = 0;
    while (!us && (a = raw_answer(fd, 10000))) {
        us = a->m_case == RILL__SERVER_FRAME__M_PONG ? a->pong->mono_us : 0;
        rill__server_frame__free_unpacked(a, NULL);
    }
    return us;
}

/* All waits to be read when the daemon goes on, whichever it reads first: late messages for a
 * stream that ended, which are no error, are as many as the socket holds, and between two clients
 * with one question. */
static void test_fair(struct rig *r)
{
    FRAME(f, late, Cancel, CANCEL, cancel);
    uint8_t b[256];
    size_t n = 0;
    int a = raw_hello(r->sock), many = raw_hello(r->sock), z = raw_hello(r->sock);
    late.stream = 1;
    CHECK(open_close(b, &n, sizeof b, 1) && raw_send(many, b, n) && ping_send(many) &&
          pong_us(many));
    CHECK(rig_freeze(r));
    CHECK(ping_send(a) && raw_burst(many, &f, LATE_MESSAGES) && ping_send(many) && ping_send(z));
    kill(r->pid, SIGCONT);
    uint64_t many_us = pong_us(many), a_us = pong_us(a), z_us = pong_us(z);
    CHECK(many_us && a_us && z_us);
    CHECK(a_us < many_us && z_us < many_us,
          "pongs at %+lld and %+lld us after that of the client with %d messages",
          (long long) (a_us - many_us), (long long) (z_us - many_us), LATE_MESSAGES);
    close(a);
    close(many);
    close(z);
}

/* Questions with long answers, none of which is read: what was made for them is bounded. */
static void test_answers_bounded(struct rig *r)
{
    FRAME(f, info, Info, INFO, info);
    int fd = raw_hello(r->sock);
    uint8_t b[65536];
    size_t bytes = 0;
    ssize_t n;
    CHECK(rig_freeze(r));
    CHECK(raw_burst(fd, &f, INFOS));
    kill(r->pid, SIGCONT);
    CHECK(rig_log_has(r, "error=SLOW_CONSUMER", 20000)); /* all that is made was made */
    while ((n = recv(fd, b, sizeof b, 0)) > 0)
        bytes += (size_t) n;
    CHECK(bytes < 4u * 262144, "%zu bytes of answers were made for a client that reads none",
          bytes);
    close(fd);
}

/* Streams that are closed before the daemon looked up count as their user's until they are gone. */
static void test_churn(struct rig *r)
{
    uint8_t b[8192];
    size_t at = 0;
    int fd = raw_hello(r->sock);
    unsigned opened = 0, own = 0, all = 0;
    for (uint32_t id = 1; id <= CHURNS; id++)
        CHECK(open_close(b, &at, sizeof b, id));
    CHECK(raw_send(fd, b, at));
    for (unsigned answers = 0; answers < CHURNS;) {
        Rill__ServerFrame *a = raw_answer(fd, 10000);
        if (!CHECK(a != NULL))
            break;
        bool error = a->m_case == RILL__SERVER_FRAME__M_ERROR;
        opened += a->m_case == RILL__SERVER_FRAME__M_OPENED;
        own += error && strstr(a->error->text, "max_streams_per_uid") != NULL;
        all += error && strstr(a->error->text, "max_streams is") != NULL;
        answers += a->m_case == RILL__SERVER_FRAME__M_FINISHED ||
            (error && a->error->code == RILL__CODE__QUOTA);
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(all == 0, "%u opens found the places of all users taken", all);
    CHECK(opened >= 2, "%u opened, %u refused", opened, own);
    close(fd);
}

/* Resets of what has not begun, or has begun afresh already, are nothing: none is refused, however
 * many come at once, and none stands between the samples. */
static void test_resets(struct rig *r)
{
    static const int16_t x[1600] = { 1, 2, 3 };
    const struct rill_client_open o = { .in = { 16000, 1, RILL_CLIENT_S16 }, .align = true };
    struct rill_client *c = NULL;
    struct result heard = { .frame_bytes = 2 };
    struct rill_client_finished f;
    if (!CHECK(rill_client_connect(&c, r->sock, "test", 20000) == 0))
        return;
    result_listen(c, &heard);
    /* streams of the tests before may not have gone yet */
    bool open = false;
    for (uint64_t end = now_ms() + 20000; !open && now_ms() < end; usleep(20000))
        open = rill_client_open(c, 1, &o, NULL) == 0;
    CHECK_OF(c, open);
    heard.error_code = 0;
    for (unsigned k = 0; k < RESETS; k++)
        rill_client_reset(c, 1);
    CHECK(rill_client_ping(c, NULL) == 0 && heard.error_code == 0, "error %d", heard.error_code);
    CHECK(rill_client_send(c, 1, x, sizeof x) == 0);
    for (unsigned k = 0; k < RESETS; k++)
        rill_client_reset(c, 1);
    CHECK_OF(c, rill_client_send(c, 1, x, sizeof x) == 0 && rill_client_finish(c, 1, &f) == 0);
    CHECK(heard.error_code == 0 && f.in == 3200 && f.out == 3200 && heard.bytes == 6400,
          "error %d, %llu in, %llu out", heard.error_code, LLU(f.in), LLU(f.out));
    rill_client_free(c);
    result_free(&heard);
}

int main(void)
{
    struct rig r;
    rig_start(&r, "[limits]\nmax_streams = 4\nmax_streams_per_uid = 2\n");
    test_fair(&r);
    test_answers_bounded(&r);
    test_churn(&r);
    test_resets(&r);
    CHECK(rig_stop(&r) == 0);
    return check_end();
}
