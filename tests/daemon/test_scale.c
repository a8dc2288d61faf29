/* SPDX-License-Identifier: MIT */
/* Two daemons behind HAProxy as docs/scale.md sets it up: streams are spread, stay where they
 * began, and a daemon that drains ends them whole while new ones go to the other. HAPROXY names the
 * program, HAPROXY_CONF its settings. */
#include "tests/daemon/harness.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_STREAMS 8
#define N_SAMPLES 16000

static struct rig daemons[2], proxy;
static char front[128];
static float samples[N_SAMPLES];
static const struct rill_client_open how = OPEN(FILE, 16000, 1, F32, .align = true);

/* ---- set-up ---- */

/* In the folder of the proxy, where its settings look for it. */
static void daemon_prepare(int i)
{
    static const char *const names[] = { "one", "two" };
    char more[200];
    rig_dir(&daemons[i]);
    snprintf(daemons[i].sock, sizeof daemons[i].sock, "%s/%s.sock", proxy.dir, names[i]);
    snprintf(more, sizeof more,
             "[limits]\ndrain_grace_ms = 60000\n[http]\nhealth_listen = %s/%s.health", proxy.dir,
             names[i]);
    rig_conf(&daemons[i], more);
}

static bool daemon_up(int i)
{
    return rig_run(&daemons[i]) && rig_wait_ready(&daemons[i]);
}

/* What HAProxy says about a server, such as "UP"; "" if it does not answer. */
static const char *proxy_says(const char *server)
{
    static char text[16384];
    char path[128], key[64], *at;
    snprintf(path, sizeof path, "%s/haproxy.sock", proxy.dir);
    int fd = raw_connect(path);
    size_t n = 0;
    ssize_t r = fd >= 0 && raw_send(fd, "show stat\n", 10) ? 1 : 0;
    while (r > 0 && n < sizeof text - 1 && (r = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t) r;
    text[n] = '\0';
    close(fd);
    snprintf(key, sizeof key, "\ndaemons,%s,", server);
    at = strstr(text, key);
    for (int column = 0; at && column < 17; column++)
        at = strchr(at + 1, ',');
    if (at)
        at[1 + strcspn(at + 1, ",\n")] = '\0';
    return at ? at + 1 : "";
}

static bool proxy_wait(const char *server, const char *state)
{
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(50000))
        if (!strncmp(proxy_says(server), state, strlen(state)))
            return true;
    printf("%s is '%s', not '%s'\n%s", server, proxy_says(server), state, rig_log(&proxy));
    return false;
}

static bool all_start(void)
{
    char *argv[] = { getenv("HAPROXY"), (char *) (uintptr_t) "-db", (char *) (uintptr_t) "-f",
                     getenv("HAPROXY_CONF"), NULL };
    rig_dir(&proxy);
    snprintf(front, sizeof front, "%s/front.sock", proxy.dir);
    for (int i = 0; i < 2; i++) {
        daemon_prepare(i);
        if (!daemon_up(i))
            return false;
    }
    setenv("RILL_RUN", proxy.dir, 1);
    return rig_spawn(&proxy, argv) && proxy_wait("one", "UP") && proxy_wait("two", "UP");
}

/* ---- streams ---- */

struct part {
    struct rill_client *c;
    struct result r;
};

static bool part_begin(struct part *p)
{
    memset(p, 0, sizeof *p);
    bool good = rill_client_connect(&p->c, front, "scale", 20000) == 0;
    result_listen(p->c, &p->r);
    p->r.frame_bytes = 4;
    return CHECK_OF(p->c,
                    good && rill_client_open(p->c, 7, &how, NULL) == 0 &&
                        rill_client_send(p->c, 7, samples, sizeof samples / 2) == 0);
}

static void part_end(struct part *p, const struct result *whole)
{
    CHECK_OF(p->c,
             rill_client_send(p->c, 7, samples + N_SAMPLES / 2, sizeof samples / 2) == 0 &&
                 rill_client_finish(p->c, 7, &p->r.fin) == 0);
    CHECK(p->r.fin.in == N_SAMPLES && p->r.fin.dropped == 0);
    CHECK(p->r.bytes == whole->bytes && memcmp(p->r.pcm, whole->pcm, whole->bytes) == 0,
          "%zu bytes", p->r.bytes);
    p->c = rill_client_free(p->c);
    result_free(&p->r);
}

static uint32_t streams_of(int i)
{
    struct rill_client_status s = { 0 };
    struct rill_client *c = client_of(daemons[i].ctl, "scale");
    CHECK_OF(c, rill_client_ctl_status(c, &s, NULL, NULL) == 0);
    rill_client_free(c);
    return s.streams;
}

static bool daemon_drain(int i)
{
    struct rill_client *c = NULL;
    bool good = rill_client_connect(&c, daemons[i].ctl, "scale", 10000) == 0 &&
        rill_client_ctl_drain(c, 0) == 0;
    CHECK_OF(c, good);
    rill_client_free(c);
    return good;
}

/* ---- the test ---- */

static void test_spread_and_drain(void)
{
    struct part first[N_STREAMS], later[N_STREAMS / 2];
    struct result whole;
    char err[512];
    if (!CHECK(stream_whole(daemons[0].sock, &how, samples, N_SAMPLES, 4, 1600, &whole, err), "%s",
               err))
        return;
    for (int i = 0; i < N_STREAMS; i++)
        part_begin(&first[i]);
    CHECK(streams_of(0) == N_STREAMS / 2 && streams_of(1) == N_STREAMS / 2, "%u, %u", streams_of(0),
          streams_of(1));
    daemon_drain(0);
    CHECK(proxy_wait("one", "DOWN"));
    for (int i = 0; i < N_STREAMS / 2; i++)
        part_begin(&later[i]);
    CHECK(streams_of(1) == N_STREAMS, "%u", streams_of(1));
    for (int i = 0; i < N_STREAMS; i++)
        part_end(&first[i], &whole);
    CHECK(rig_wait(&daemons[0], 20000) == 0); /* its last stream ended */
    for (int i = 0; i < N_STREAMS / 2; i++)
        part_end(&later[i], &whole);
    result_free(&whole);
}

/* A daemon that comes back gets streams again; one that is killed takes only its own along. */
static void test_return_and_death(void)
{
    struct part p[2];
    uint32_t before = streams_of(1);
    CHECK(before == 0, "%u", before);
    CHECK(daemon_up(0) && proxy_wait("one", "UP"));
    for (int i = 0; i < 2; i++)
        part_begin(&p[i]);
    CHECK(streams_of(0) == 1 && streams_of(1) == 1);
    kill(daemons[1].pid, SIGKILL);
    waitpid(daemons[1].pid, NULL, 0);
    int n_dead = 0;
    for (int i = 0; i < 2; i++) {
        n_dead += rill_client_send(p[i].c, 7, samples, sizeof samples / 2) != 0 ||
            rill_client_finish(p[i].c, 7, NULL) != 0;
        rill_client_free(p[i].c);
        result_free(&p[i].r);
    }
    CHECK(n_dead == 1, "%d", n_dead);
    CHECK(proxy_wait("two", "DOWN") && part_begin(&p[0]));
    rill_client_free(p[0].c);
    result_free(&p[0].r);
}

int main(void)
{
    const char *program = getenv("HAPROXY");
    if (!program || !*program) {
        check_skip("HAProxy is not installed");
        return check_end();
    }
    for (int i = 0; i < N_SAMPLES; i++)
        samples[i] = 0.4f * sinf((float) i * 0.05f) * sinf((float) i * 0.0013f);
    if (CHECK(all_start())) {
        test_spread_and_drain();
        test_return_and_death();
    }
    kill(proxy.pid, SIGTERM);
    waitpid(proxy.pid, NULL, 0);
    rig_stop(&daemons[0]);
    rig_clean(&daemons[1]);
    rig_clean(&proxy);
    return check_end();
}
