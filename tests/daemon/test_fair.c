/* SPDX-License-Identifier: MIT */
/* Places for connections and streams: whoever took all that he could leaves some for others. */
#include "tests/daemon/harness.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RATE 16000
#define FIRST_UID 20001
#define MOST 64
#define USERS 6
#define SETTINGS                                                                                   \
    "preload = wiener\n[daemon]\nsocket_mode = 0666\n[limits]\nhello_timeout_ms = 60000\n"

static struct rill_client *clients[USERS][MOST];
static unsigned n_clients[USERS];

static void clients_free(void)
{
    for (unsigned u = 0; u < USERS; u++)
        while (n_clients[u])
            rill_client_free(clients[u][--n_clients[u]]);
}

/* Who connects from here on; without root everybody is one user. */
static void be(uid_t uid)
{
    if (getuid() == 0 && (seteuid(0) < 0 || seteuid(uid) < 0))
        give_up("seteuid");
}

static struct rill_client *client_as(const struct rig *r, unsigned user, int *code, char words[512])
{
    struct rill_client *c = NULL;
    be(FIRST_UID + user);
    *code = rill_client_connect(&c, r->sock, "user", 10000) == 0 ? 0 : rill_client_error_code(c);
    snprintf(words, 512, "%s", rill_client_error(c));
    be(0);
    if (*code == 0)
        return c;
    rill_client_free(c);
    return NULL;
}

/* Connects until it is refused. */
static unsigned places_take(const struct rig *r, unsigned user, int *code, char words[512])
{
    while (n_clients[user] < MOST &&
           (clients[user][n_clients[user]] = client_as(r, user, code, words)))
        n_clients[user]++;
    return n_clients[user];
}

/* Opens streams of one connection until it is refused. */
static unsigned streams_take(struct rill_client *c, int *code, char words[512])
{
    struct rill_client_open o = OPEN(FILE, RATE, 1, S16, .model = "wiener");
    unsigned n = 0;
    while (n < MOST && rill_client_open(c, n + 1, &o, NULL) == 0)
        n++;
    *code = rill_client_error_code(c);
    snprintf(words, 512, "%s", rill_client_error(c));
    return n;
}

/* What users get one after another where each takes all that he can: of 64 places of which one user
 * may have `most_of_user`. */
static const struct {
    unsigned most_of_user, gets[USERS];
} cases[] = {
    { 64, { 56, 4, 2, 1, 1, 0 } },
    { 16, { 16, 16, 16, 8, 4, 2 } },
};

static unsigned users(void)
{
    return getuid() == 0 ? USERS : 1;
}

static void test_places(unsigned k, bool streams)
{
    static const char *const what[] = { "connections", "streams" };
    struct rig r;
    char conf[300], words[512], limit[20];
    int code = 0;
    snprintf(limit, sizeof limit, "max_%s", what[streams]);
    snprintf(conf, sizeof conf, SETTINGS "%s = %d\n%s_per_uid = %u\n%s", limit, MOST, limit,
             cases[k].most_of_user, streams ? "max_streams_per_connection = 64\n" : "");
    rig_start(&r, conf);
    chmod(r.dir, 0755);
    for (unsigned u = 0; u < users(); u++) {
        struct rill_client *c =
            streams ? clients[u][n_clients[u]++] = client_as(&r, u, &code, words) : NULL;
        unsigned n = streams ? streams_take(c, &code, words) : places_take(&r, u, &code, words);
        CHECK(n == cases[k].gets[u] && code == RILL__CODE__QUOTA && strstr(words, limit),
              "user %u of case %u has %u %s: %d, %s", u, k, n, what[streams], code, words);
    }
    clients_free();
    CHECK(rig_stop(&r) == 0);
}

/* Who is refused in the same turn of the loop takes no place from who comes behind him. */
static void test_storm(void)
{
    struct rig r;
    char words[512];
    int fds[108], code;
    rig_start(&r, SETTINGS "max_connections = 64\nmax_connections_per_uid = 16\n");
    chmod(r.dir, 0755);
    places_take(&r, 0, &code, words);
    CHECK(rig_freeze(&r));
    be(FIRST_UID);
    for (int i = 0; i < 100; i++)
        fds[i] = raw_connect(r.sock);
    be(FIRST_UID + 1);
    for (int i = 100; i < 108; i++)
        fds[i] = raw_connect(r.sock);
    be(0);
    kill(r.pid, SIGCONT);
    for (int i = 0; i < 100; i++)
        CHECK(raw_closed(fds[i], 10000), "connection %d", i);
    for (int i = 100; i < 108; i++) {
        CHECK(raw_preface(fds[i]), "connection %d", i);
        close(fds[i]);
    }
    for (int i = 0; i < 100; i++)
        close(fds[i]);
    clients_free();
    CHECK(rig_stop(&r) == 0);
}

int main(void)
{
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_places(k, false);
        test_places(k, true);
    }
    if (getuid() == 0)
        test_storm();
    else
        check_skip("several users: this is not root");
    return check_end();
}
