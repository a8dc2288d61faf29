/* SPDX-License-Identifier: MIT */
/* The answers over HTTP: what a request gets, whatever its bytes are, and a daemon that was passed
 * a listening socket. */
#include "daemon/net/http.h"
#include "tests/daemon/harness.h"
#include "tests/daemon/openmetrics.h"
#include "tests/daemon/passed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the decision ---- */

#define OPEN_TYPE "application/openmetrics-text"
static const struct {
    const char *request;
    int status;
    enum http_page page;
    bool open;
} cases[] = {
    { "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 200, HTTP_METRICS, false },
    { "GET /metrics HTTP/1.0\r\n\r\n", 200, HTTP_METRICS, false },
    { "GET /metrics?x=1 HTTP/1.1\r\nAccept: text/plain;q=0.5, " OPEN_TYPE ";version=1.0.0\r\n\r\n",
      200, HTTP_METRICS, true },
    { "GET /health HTTP/1.1\r\nACCEPT:*/*\r\n\r\n", 200, HTTP_READY, false },
    { "GET /health HTTP/1.1\r\nX-Accept: " OPEN_TYPE "\r\n\r\n", 200, HTTP_READY, false },
    { "GET /health/ready HTTP/1.1\r\n\r\n", 200, HTTP_READY, false },
    { "GET /health/live?x HTTP/1.1\r\n\r\n", 200, HTTP_LIVE, false },
    { "GET /health/ HTTP/1.1\r\n\r\n", 404, HTTP_NONE, false },
    { "GET /health/lives HTTP/1.1\r\n\r\n", 404, HTTP_NONE, false },
    { "GET / HTTP/1.1\r\n\r\n", 404, HTTP_NONE, false },
    { "GET /healthy HTTP/1.1\r\n\r\n", 404, HTTP_NONE, false },
    { "GET /../metrics HTTP/1.1\r\n\r\n", 404, HTTP_NONE, false },
    { "HEAD /health HTTP/1.1\r\n\r\n", 405, HTTP_NONE, false },
    { "POST /metrics HTTP/1.1\r\n\r\n", 405, HTTP_NONE, false },
    { "GET /health HTTP/2.0\r\n\r\n", 505, HTTP_NONE, false },
    { "GET http://a/health HTTP/1.1\r\n\r\n", 400, HTTP_NONE, false },
    { "GET /health\r\n\r\n", 400, HTTP_NONE, false },
    { "GET  /health HTTP/1.1\r\n\r\n", 400, HTTP_NONE, false },
    { "\r\n\r\n", 400, HTTP_NONE, false },
    { "GET /health HTTP/1.1\n\n", 400, HTTP_NONE, false },
    { "GET /health HTTP/1.1\r\nno header\r\n\r\n", 400, HTTP_NONE, false },
    { "GET /health HTTP/1.1\r\n folded: x\r\n\r\n", 400, HTTP_NONE, false },
    { "GET /health HTTP/1.1\r\na: b\rc\r\n\r\n", 400, HTTP_NONE, false },
    { "RILL\x01", 400, HTTP_NONE, false },
    { "GET /health HTTP/1.1\r\n: x\r\n\r\n", 400, HTTP_NONE, false },
    { "\x16\x03\x01", 400, HTTP_NONE, false },
    { "GET /health HTTP/1.1\r\nHost: x\r\n", 0, HTTP_NONE, false },
    { "GET /health HTTP/1.1\r", 0, HTTP_NONE, false },
};
#define N_CASES (sizeof cases / sizeof *cases)

static void test_decision(void)
{
    for (size_t i = 0; i < N_CASES; i++) {
        size_t n = strlen(cases[i].request);
        struct http_decision d = http_decide(cases[i].request, n);
        CHECK(d.status == cases[i].status, "case %zu: %d", i, d.status);
        CHECK(d.status != 200 || (d.page == cases[i].page && d.open == cases[i].open), "case %zu",
              i);
        for (size_t k = 0; k < n && cases[i].status == 200; k++)
            CHECK(http_decide(cases[i].request, k).status == 0, "case %zu cut at %zu", i, k);
    }
    char longest[4096];
    memset(longest, 'a', sizeof longest);
    CHECK(http_decide(longest, 1023).status == 0 && http_decide(longest, 1024).status == 431 &&
          http_decide(longest, 4096).status == 431);
    int at = snprintf(longest, sizeof longest, "GET /health HTTP/1.1\r\nx: ");
    memset(longest + at, 'y', HTTP_REQUEST_BYTES - (size_t) at);
    memcpy(longest + HTTP_REQUEST_BYTES - 4, "\r\n\r\n", 4);
    CHECK(http_decide(longest, HTTP_REQUEST_BYTES).status == 200, "the longest that fits");
    memcpy(longest + HTTP_REQUEST_BYTES - 4, "yy\r\n\r\n", 6);
    CHECK(http_decide(longest, HTTP_REQUEST_BYTES + 2).status == 431);
}

/* ---- a daemon ---- */

static int port;

static void start_with_socket(struct rig *r, const char *more)
{
    port = 0;
    int fd = passed_listen(&port);
    rig_dir(r);
    rig_conf(r, more);
    CHECK(passed_start(r, fd));
}

/* A socket for clients that is no file's is named by where it listens. */
static void test_data_socket(void)
{
    struct rig r;
    char where[40];
    port = 0;
    int fd = passed_listen(&port);
    snprintf(where, sizeof where, " 127.0.0.1:%d", port);
    rig_dir(&r);
    rig_conf(&r, "");
    CHECK(passed_start_as(&r, fd, "data") && rig_log_has(&r, where, 15000) &&
              !rig_log_has(&r, "a passed socket", 0),
          "%s", rig_log(&r));
    CHECK(rig_stop(&r) == 0);
}

static int http_connect(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t) port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *) &a, sizeof a) < 0)
        give_up("port %d: %s", port, strerror(errno));
    return fd;
}

/* Everything up to the end, in static memory; "" if it does not end within the time. */
static const char *answer_read(int fd, int timeout_ms)
{
    static char b[1 << 18];
    size_t n = 0;
    uint64_t end = now_ms() + (uint64_t) timeout_ms;
    for (;;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        uint64_t now = now_ms();
        ssize_t r = now < end && poll(&p, 1, (int) (end - now)) > 0
            ? recv(fd, b + n, sizeof b - 1 - n, 0)
            : -1;
        if (r < 0)
            return "";
        n += (size_t) r;
        b[n] = '\0';
        if (r == 0)
            return b;
    }
}

/* Takes fd. */
static const char *ask_on(int fd, const char *request)
{
    raw_send(fd, request, strlen(request));
    const char *a = answer_read(fd, 10000);
    close(fd);
    return a;
}

static const char *ask(const char *request)
{
    return ask_on(http_connect(), request);
}

static bool is_status(const char *answer, int status)
{
    int n = 0;
    if (sscanf(answer, "HTTP/1.1 %d", &n) == 1 && n == status)
        return true;
    printf("answer: %.200s\n", answer);
    return false;
}

/* One that is passed for health gives no figures. */
static void test_health_socket(void)
{
    struct rig r;
    port = 0;
    int fd = passed_listen(&port);
    rig_dir(&r);
    rig_conf(&r, "");
    CHECK(passed_start_as(&r, fd, "health"));
    CHECK(is_status(ask("GET /health/ready HTTP/1.1\r\n\r\n"), 200));
    CHECK(is_status(ask("GET /metrics HTTP/1.1\r\n\r\n"), 404));
    CHECK(rig_stop(&r) == 0);
}

static const char *body_of(const char *answer)
{
    const char *b = strstr(answer, "\r\n\r\n"), *l = strstr(answer, "Content-Length: ");
    CHECK(b && l && strlen(b + 4) == strtoul(l + 16, NULL, 10));
    return b ? b + 4 : "";
}

static struct om om;

static void test_pages(void)
{
    struct rig r;
    start_with_socket(&r, "");
    const char *a = ask("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(is_status(a, 200) && !strcmp(body_of(a), "ok\n") && strstr(a, "Connection: close"));
    a = ask("GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n");
    CHECK(is_status(a, 200) &&
          strstr(a, "Content-Type: application/openmetrics-text; version=1.0.0"));
    CHECK(om_parse(&om, body_of(a)), "%s", om.error);
    CHECK(om_value(&om, "rill_healthy", "") == 1);
    a = ask("GET /metrics HTTP/1.0\r\n\r\n");
    CHECK(is_status(a, 200) && strstr(a, "version=0.0.4") && !strstr(a, "# EOF") &&
          !strstr(a, "# UNIT"));
    CHECK(strstr(body_of(a), "# TYPE rill_connections_accepted_total counter\n") != NULL);
    CHECK(is_status(ask("GET /nothing HTTP/1.1\r\n\r\n"), 404));
    a = ask("HEAD /health HTTP/1.1\r\n\r\n");
    CHECK(is_status(a, 405) && strstr(a, "Allow: GET\r\n"));
    CHECK(is_status(ask("RILL\1\0"), 400));
    char big[3000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    CHECK(is_status(ask(big), 431));
    /* A byte at a time. */
    int fd = http_connect();
    for (const char *p = "GET /health HTTP/1.1\r\n\r\n"; *p; p++) {
        raw_send(fd, p, 1);
        usleep(1000);
    }
    CHECK(is_status(answer_read(fd, 5000), 200));
    close(fd);
    /* The sockets for clients are its own: none was passed. */
    fd = raw_hello(r.ctl);
    close(fd);
    CHECK(rig_stop(&r) == 0);
}

/* Connections that say nothing are told so, and take places of nobody else's. */
static void test_idle(void)
{
    struct rig r;
    int fds[40];
    start_with_socket(&r, "");
    for (int i = 0; i < 40; i++)
        fds[i] = http_connect();
    struct rill_client *c = client_of(r.sock, "beside");
    CHECK(rill_client_ping(c, NULL) == 0);
    rill_client_free(c);
    for (int i = 0; i < 40; i++) {
        CHECK(is_status(answer_read(fds[i], 20000), 408), "%d", i);
        close(fds[i]);
    }
    CHECK(is_status(ask("GET /health HTTP/1.1\r\n\r\n"), 200));
    CHECK(rig_stop(&r) == 0);
}

/* ---- more than there are places for ---- */

#define CROWD 700
static int crowd[CROWD];

/* Each says `words` and reads nothing. */
static void crowd_come(const char *words)
{
    int bytes = 1024;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = http_connect();
        setsockopt(crowd[i], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        raw_send(crowd[i], words, strlen(words));
    }
}

static void crowd_go(void)
{
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
}

static void checks_are_answered(const char *words)
{
    for (int i = 0; i < 20; i++)
        CHECK(is_status(ask("GET /health HTTP/1.1\r\n\r\n"), 200), "'%s', check %d", words, i);
}

/* Whatever those who came before left half done, whoever asks is answered. */
static void test_crowd(void)
{
    static const char *const words[] = { "", "GET /hea", "GET /health HTTP/1.1\r\n\r\n",
                                         "GET /metrics HTTP/1.1\r\n\r\n" };
    struct rig r;
    start_with_socket(&r, "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        crowd_come(words[i]);
        checks_are_answered(words[i]);
        if (i < 2) /* the newest has not given way */
            CHECK(is_status(answer_read(crowd[CROWD - 1], 20000), 408));
        crowd_go();
    }
    const char *a = ask("GET /metrics HTTP/1.1\r\nAccept: " OPEN_TYPE "\r\n\r\n");
    CHECK(om_parse(&om, body_of(a)), "%s", om.error);
    CHECK(om_value(&om, "rill_http_evicted_total", "") > 0);
    CHECK(rig_stop(&r) == 0);
}

/* The figures are put together once for all who ask within a tick. */
static void test_many_scrapes(void)
{
    enum { ASKERS = 48 };
    struct rig r;
    int fds[ASKERS];
    char seen[ASKERS][64];
    unsigned n_seen = 0;
    static const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
    start_with_socket(&r, "");
    CHECK(rig_freeze(&r));
    for (int i = 0; i < ASKERS; i++) {
        fds[i] = http_connect();
        raw_send(fds[i], request, strlen(request));
    }
    kill(r.pid, SIGCONT);
    for (int i = 0; i < ASKERS; i++) {
        const char *a = answer_read(fds[i], 20000), *at = strstr(a, "\nrill_uptime_seconds ");
        CHECK(is_status(a, 200) && at, "%d", i);
        snprintf(seen[n_seen], sizeof seen[0], "%.*s", at ? (int) strcspn(at + 1, "\n") + 1 : 0,
                 at ? at : "");
        unsigned k = 0;
        while (strcmp(seen[k], seen[n_seen]) != 0)
            k++;
        n_seen += k == n_seen;
        close(fds[i]);
    }
    CHECK(n_seen <= ASKERS / 2, "made %u times for %d requesters", n_seen, ASKERS);
    CHECK(rig_stop(&r) == 0);
}

/* They take the descriptors that are left, and give them back to clients. */
static void test_descriptors(void)
{
    struct rig r;
    start_with_socket(&r, "");
    CHECK(prlimit(r.pid, RLIMIT_NOFILE, &(struct rlimit) { 64, 64 }, NULL) == 0);
    crowd_come("GET /hea");
    checks_are_answered("GET /hea");
    struct rill_client *c = client_of(r.sock, "beside");
    CHECK_OF(c, rill_client_ping(c, NULL) == 0);
    rill_client_free(c);
    crowd_go();
    CHECK(rig_stop(&r) == 0);
}

/* ---- where the settings say ---- */

static int path_connect(const struct rig *r)
{
    char path[128];
    snprintf(path, sizeof path, "%s/health.sock", r->dir);
    int fd = raw_connect(path);
    if (fd < 0)
        give_up("%s: %s", path, strerror(errno));
    return fd;
}

static const char *ask_path(const struct rig *r, const char *request)
{
    return ask_on(path_connect(r), request);
}

static void start_with_settings(struct rig *r)
{
    char more[300];
    rig_dir(r);
    snprintf(more, sizeof more,
             "[http]\nlisten = 127.0.0.1:0\nhealth_listen = %s/health.sock\nsocket_mode = 0600",
             r->dir);
    rig_conf(r, more);
    rig_run(r);
    CHECK(rig_wait_ready(r) &&
          rig_log_has(r, " ready: ", 30000)); /* health says so from there on */
    const char *at = strstr(rig_log(r), "HTTP at 127.0.0.1:");
    port = at ? atoi(at + strlen("HTTP at 127.0.0.1:")) : 0;
    CHECK(port > 0, "%s", rig_log(r));
}

static void test_settings(void)
{
    struct rig r;
    struct stat st;
    char path[128];
    start_with_settings(&r);
    CHECK(is_status(ask("GET /metrics HTTP/1.1\r\n\r\n"), 200));
    CHECK(is_status(ask("GET /health/live HTTP/1.1\r\n\r\n"), 200));
    CHECK(is_status(ask_path(&r, "GET /health HTTP/1.1\r\n\r\n"), 200));
    CHECK(is_status(ask_path(&r, "GET /health/live HTTP/1.1\r\n\r\n"), 200));
    CHECK(is_status(ask_path(&r, "GET /metrics HTTP/1.1\r\n\r\n"), 404));
    snprintf(path, sizeof path, "%s/health.sock", r.dir);
    CHECK(stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
    /* Whoever fills the other takes none of its places. */
    crowd_come("GET /hea");
    const char *a = ask_path(&r, "GET /health HTTP/1.1\r\n\r\n");
    CHECK(is_status(a, 200), "%s", a);
    crowd_go();
    kill(r.pid, SIGTERM);
    CHECK(rig_wait(&r, 10000) == 0 && stat(path, &st) < 0 && errno == ENOENT);
    rig_clean(&r);
}

static void test_unwell(void)
{
    struct rig r;
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = false);
    static const float hang[512] = { 0.765625f };
    start_with_socket(&r, "");
    rig_hold(&r);
    struct rill_client *c = client_of(r.sock, "hang");
    CHECK(rill_client_open(c, 1, &o, NULL) == 0 && rill_client_send(c, 1, hang, sizeof hang) == 0);
    CHECK(rig_log_has(&r, "does not advance", 20000));
    const char *a = ask("GET /health HTTP/1.1\r\n\r\n");
    CHECK(is_status(a, 503) && strstr(body_of(a), "stuck: compute thread"), "%s", a);
    a = ask("GET /health/live HTTP/1.1\r\n\r\n");
    CHECK(is_status(a, 503) && strstr(body_of(a), "stuck: compute thread"), "%s", a);
    rig_let_go(&r);
    CHECK(rig_log_has(&r, "advance again", 20000));
    CHECK(is_status(ask("GET /health HTTP/1.1\r\n\r\n"), 200));
    /* It drains: clients are refused, and whoever asks is told. */
    kill(r.pid, SIGTERM);
    CHECK(rig_log_has(&r, "draining", 20000));
    a = ask("GET /health HTTP/1.1\r\n\r\n");
    CHECK(is_status(a, 503) && strstr(body_of(a), "draining"), "%s", a);
    CHECK(is_status(ask("GET /health/ready HTTP/1.1\r\n\r\n"), 503));
    CHECK(is_status(ask("GET /health/live HTTP/1.1\r\n\r\n"), 200), "it is well, and ends");
    CHECK_OF(c, rill_client_finish(c, 1, NULL) == 0);
    rill_client_free(c);
    CHECK(rig_wait(&r, 10000) == 0);
    rig_clean(&r);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    test_decision();
    test_data_socket();
    test_health_socket();
    test_pages();
    test_idle();
    test_crowd();
    test_many_scrapes();
    test_descriptors();
    test_settings();
    test_unwell();
    return check_end();
}
