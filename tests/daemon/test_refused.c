/* SPDX-License-Identifier: MIT */
/* A daemon that refuses and closes before the client has written: the client tells the daemon's
 * words, not that a pipe is broken. */
#include "tests/daemon/harness.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static char dir[] = "/tmp/rill-refused-XXXXXX", path[64];
static int listener;
static volatile bool late; /* what is sent waits until the other side has closed */

/* The client's: the library's calls come here. */
ssize_t send(int fd, const void *bytes, size_t n, int flags)
{
    if (late)
        usleep(200000);
    return syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
}

/* ---- the other side ---- */

struct other {
    bool hello;       /* answers the preface and Hello before it refuses */
    unsigned n_pongs; /* that nobody asked for come before the refusal */
};

static void frame_put(int fd, const Rill__ServerFrame *f)
{
    uint8_t b[4096];
    size_t n = rill__server_frame__get_packed_size(f);
    if (n + 4 > sizeof b)
        abort();
    for (int i = 0; i < 4; i++)
        b[i] = (uint8_t) (n >> (8 * i));
    rill__server_frame__pack(f, b + 4);
    if (write(fd, b, n + 4) < 0)
        printf("the other side cannot write\n");
}

static void hello_answer(int fd)
{
    static const uint8_t preface[8] = { 'R', 'I', 'L', 'L', 1, 0, 0, 0 };
    uint8_t b[512];
    ssize_t n = read(fd, b, 8);
    n += write(fd, preface, sizeof preface);
    n += read(fd, b, sizeof b);
    Rill__HelloAck a = RILL__HELLO_ACK__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    a.server = (char *) (uintptr_t) "impostor";
    a.max_frame = 65536;
    f.req = 1;
    f.m_case = RILL__SERVER_FRAME__M_HELLO;
    f.hello = &a;
    if (n > 16)
        frame_put(fd, &f);
}

static void pong_put(int fd)
{
    static uint8_t payload[1000];
    Rill__Pong p = RILL__PONG__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    p.payload = (ProtobufCBinaryData) { sizeof payload, payload };
    f.m_case = RILL__SERVER_FRAME__M_PONG;
    f.pong = &p;
    frame_put(fd, &f);
}

static void *other_run(void *arg)
{
    const struct other *o = arg;
    int fd = accept(listener, NULL, NULL);
    if (o->hello)
        hello_answer(fd);
    for (unsigned i = 0; i < o->n_pongs; i++)
        pong_put(fd);
    Rill__Error e = RILL__ERROR__INIT;
    Rill__ServerFrame f = RILL__SERVER_FRAME__INIT;
    e.code = RILL__CODE__QUOTA;
    e.text = (char *) (uintptr_t) "no more of you (max_connections_per_uid)";
    e.fatal = true;
    f.m_case = RILL__SERVER_FRAME__M_ERROR;
    f.error = &e;
    frame_put(fd, &f);
    close(fd);
    return NULL;
}

/* ---- the client ---- */

static void refused_check(const struct rill_client *c, const char *when)
{
    CHECK(rill_client_error_code(c) == RILL__CODE__QUOTA &&
              strstr(rill_client_error(c), "QUOTA: no more of you"),
          "%s: code %d, %s", when, rill_client_error_code(c), rill_client_error(c));
}

static struct rill_client *meet(struct other *o, pthread_t *thread, int *ret)
{
    struct rill_client *c = NULL;
    pthread_create(thread, NULL, other_run, o);
    *ret = rill_client_connect(&c, path, "refused", 5000);
    return c;
}

static void test_connect(void)
{
    for (int i = 0; i < 2; i++) {
        struct other o = { .hello = false };
        pthread_t t;
        int r;
        late = i == 0;
        struct rill_client *c = meet(&o, &t, &r);
        CHECK(r < 0);
        refused_check(c, late ? "at the preface, late" : "at the preface");
        late = false;
        pthread_join(t, NULL);
        rill_client_free(c);
    }
}

static void test_request(unsigned n_pongs)
{
    struct other o = { .hello = true, .n_pongs = n_pongs };
    pthread_t t;
    int r;
    struct rill_client *c = meet(&o, &t, &r);
    CHECK_OF(c, r == 0);
    pthread_join(t, NULL); /* it has closed */
    CHECK(rill_client_ping(c, NULL) < 0);
    refused_check(c, "at a request");
    CHECK(rill_client_ping(c, NULL) < 0);
    refused_check(c, "at the next one too");
    rill_client_free(c);
}

/* The refusal was read before anything failed. */
static void test_polled(void)
{
    struct other o = { .hello = true };
    struct rill_client_open open = { .in = { 16000, 1, RILL_CLIENT_S16 } };
    pthread_t t;
    int r;
    struct rill_client *c = meet(&o, &t, &r);
    CHECK_OF(c, r == 0);
    pthread_join(t, NULL);
    for (int i = 0; i < 3; i++)
        rill_client_poll(c, 100);
    CHECK(rill_client_ping(c, NULL) < 0);
    refused_check(c, "after polling");
    CHECK(rill_client_open(c, 1, &open, NULL) < 0);
    refused_check(c, "when a stream is opened");
    rill_client_free(c);
}

int main(void)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (!mkdtemp(dir))
        abort();
    snprintf(path, sizeof path, "%s/s", dir);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *) &a, sizeof a) < 0 || listen(listener, 4) < 0)
        abort();
    test_connect();
    test_request(0);
    test_request(80);
    test_polled();
    unlink(path);
    rmdir(dir);
    return check_end();
}
