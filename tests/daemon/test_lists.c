/* SPDX-License-Identifier: MIT */
/* Lists that are longer than a message: models, topics, streams and subscriptions come in pages,
 * each entry once and in order. */
#include "tests/daemon/harness.h"

#include <sys/stat.h>
#include <unistd.h>

#define N_MODELS 150
#define N_TOPICS 70
#define N_USED 70 /* models that had streams */
#define N_SUBS 14 /* of one connection */
#define N_READERS 3

static struct rig rig;
static const float silence[1600];

/* Names in order, each once. */
struct names {
    unsigned n, n_ours, n_wrong;
    const char *prefix;
    char last[80];
};

static void name_note(struct names *x, const char *name)
{
    x->n++;
    x->n_ours += strncmp(name, x->prefix, strlen(x->prefix)) == 0;
    x->n_wrong += strcmp(name, x->last) <= 0;
    snprintf(x->last, sizeof x->last, "%s", name);
}

static void on_model(void *arg, const struct rill_client_model *m)
{
    name_note(arg, m->name);
}

static void on_topic(void *arg, const struct rill_client_topic *t)
{
    name_note(arg, t->name);
}

/* ---- models ---- */

static void models_make(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/models", rig.dir);
    mkdir(path, 0700);
    for (int i = 0; i < N_MODELS; i++) {
        snprintf(path, sizeof path, "%s/models/page-%03d", rig.dir, i);
        CHECK(mkdir(path, 0700) == 0);
    }
}

static void test_models(void)
{
    struct names x = { .prefix = "page-" };
    struct rill_client *c = client_of(rig.sock, "lists");
    models_make();
    CHECK_OF(c, rill_client_info(c, on_model, &x) == 0);
    CHECK(x.n_ours == N_MODELS && x.n > N_MODELS && !x.n_wrong, "%u models, %u ours, %u twice", x.n,
          x.n_ours, x.n_wrong);
    rill_client_free(c);
}

/* ---- models in use ---- */

static void on_used(void *arg, const struct rill_client_model_stats *m)
{
    name_note(arg, m->streams_opened == 1 ? m->name : "of other streams");
}

static void test_used_models(void)
{
    const struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = false);
    struct names seen[3] = { { .prefix = "page-" }, { .prefix = "page-" }, { .prefix = "page-" } };
    struct rill_client *c = client_of(rig.sock, "lists"), *ctl = client_of(rig.ctl, "lists");
    struct rill_client_stats stats;
    struct rill_client_status status;
    char path[200], name[16];
    for (int i = 0; i < N_USED; i++) {
        struct rill_client_open mine = o;
        snprintf(name, sizeof name, "page-%03d", i);
        snprintf(path, sizeof path, "%s/models/%s/graph.nnef", rig.dir, name);
        mine.model = name;
        FILE *f = fopen(path, "w");
        CHECK(f && fputs("wiener", f) >= 0 && fclose(f) == 0);
        CHECK_OF(c,
                 rill_client_open(c, 1, &mine, NULL) == 0 && rill_client_finish(c, 1, NULL) == 0);
    }
    CHECK_OF(c,
             rill_client_stats(c, &stats, on_used, &seen[0]) == 0 &&
                 stats.streams_opened == N_USED);
    CHECK_OF(ctl,
             rill_client_ctl_status(ctl, &status, on_used, &seen[1]) == 0 &&
                 status.stats.streams_opened == N_USED && status.pid == (uint32_t) rig.pid);
    CHECK_OF(ctl, rill_client_ctl_top(ctl, &status, on_used, NULL, &seen[2]) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(seen[i].n == N_USED && seen[i].n_ours == N_USED && !seen[i].n_wrong,
              "%d: %u models, %u ours, %u wrong", i, seen[i].n, seen[i].n_ours, seen[i].n_wrong);
    CHECK(rill_client_stats(c, &stats, NULL, NULL) == 0 && stats.connections == 2);
    rill_client_free(c);
    rill_client_free(ctl);
}

/* ---- a connection that takes small frames only ---- */

static Rill__ServerFrame *ask(int fd, Rill__ClientFrame *f)
{
    f->req++;
    Rill__ServerFrame *a = raw_ask(fd, f, 20000);
    CHECK(a && rill__server_frame__get_packed_size(a) <= 4096);
    return a;
}

/* Every page is small enough and brings something. */
static void test_small_pages(void)
{
    struct names models = { .prefix = "page-" }, topics = { .prefix = "topic-" };
    int fd = raw_hello_small(rig.sock, 4096);
    unsigned n_pages = 0;
    FRAME(f, m, Info, INFO, info);
    for (bool more = true; more && n_pages < 300; n_pages++) {
        m.after_model = models.last;
        m.after_topic = topics.last;
        Rill__ServerFrame *a = ask(fd, &f);
        if (!CHECK(a && a->m_case == RILL__SERVER_FRAME__M_INFO, "page %u", n_pages))
            break;
        for (size_t i = 0; i < a->info->n_models; i++)
            name_note(&models, a->info->models[i]->name);
        for (size_t i = 0; i < a->info->n_topics; i++)
            name_note(&topics, a->info->topics[i]->name);
        more = a->info->more;
        CHECK(!more || a->info->n_models || a->info->n_topics);
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(models.n_ours == N_MODELS && !models.n_wrong, "%u", models.n_ours);
    CHECK(topics.n_ours == N_TOPICS && topics.n == N_TOPICS && !topics.n_wrong, "%u",
          topics.n_ours);
    CHECK(n_pages >= 3, "%u pages", n_pages);
    close(fd);
}

/* Stats, or with ctl CtlStatus, page by page. */
static void small_stats_see(const char *path, bool ctl)
{
    struct names models = { .prefix = "page-" };
    int fd = raw_hello_small(path, 4096);
    unsigned n_pages = 0;
    Rill__Stats stats = RILL__STATS__INIT;
    Rill__CtlStatus status = RILL__CTL_STATUS__INIT;
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;
    f.m_case = ctl ? RILL__CLIENT_FRAME__M_CTL_STATUS : RILL__CLIENT_FRAME__M_STATS;
    if (ctl)
        f.ctl_status = &status;
    else
        f.stats = &stats;
    for (bool more = true; more && n_pages < 100; n_pages++) {
        stats.after_model = status.after_model = models.last;
        Rill__ServerFrame *a = ask(fd, &f);
        const Rill__StatsReply *x = !a                             ? NULL
            : ctl && a->m_case == RILL__SERVER_FRAME__M_CTL_STATUS ? a->ctl_status->stats
            : !ctl && a->m_case == RILL__SERVER_FRAME__M_STATS     ? a->stats
                                                                   : NULL;
        if (!CHECK(x != NULL, "page %u", n_pages))
            break;
        for (size_t i = 0; i < x->n_models; i++)
            name_note(&models, x->models[i]->name);
        more = x->more;
        CHECK(!more || x->n_models);
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(models.n_ours == N_USED && !models.n_wrong && n_pages >= 2, "%u of %u, %u pages",
          models.n_ours, models.n, n_pages);
    close(fd);
}

/* ---- topics, streams and subscriptions ---- */

static void topics_make(struct rill_client **c, size_t n_clients)
{
    const struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .model = "wiener", .align = true);
    char name[32];
    for (uint32_t i = 0; i < N_TOPICS; i++) {
        struct rill_client *x = c[i % n_clients];
        const struct rill_client_publish p = { .topic = name, .mute = true };
        snprintf(name, sizeof name, "topic-%03u", i * 37 % N_TOPICS);
        CHECK_OF(x,
                 rill_client_open(x, i + 1, &o, NULL) == 0 &&
                     rill_client_publish(x, i + 1, &p, NULL) == 0);
    }
}

static void test_topics(struct rill_client *c)
{
    struct names x = { .prefix = "topic-" };
    CHECK_OF(c, rill_client_topics(c, on_topic, &x) == 0);
    CHECK(x.n == N_TOPICS && x.n_ours == N_TOPICS && !x.n_wrong, "%u topics, %u wrong", x.n,
          x.n_wrong);
}

struct seen {
    unsigned n_streams, n_subs, n_wrong;
    uint32_t conn, stream;
    uint64_t in, out; /* summed over subscriptions */
};

static void on_session(void *arg, const struct rill_client_session *s)
{
    struct seen *x = arg;
    bool after = s->conn > x->conn || (s->conn == x->conn && s->stream > x->stream);
    bool good = after && !strncmp(s->topic, "topic-", 6) && s->uid == getuid() &&
        s->pid == (uint32_t) getpid() && !strcmp(s->client, "lists") &&
        !strcmp(s->model, "wiener") && s->age_us > 0 && s->memory_bytes > 0;
    if (s->is_subscription)
        good = good && !strcmp(s->topic, "topic-001") && !strcmp(s->state, "subscribed") &&
            s->in.rate == 16000 && s->out.rate == 16000 && s->out.channels == 2 &&
            s->gap_samples == 0;
    x->n_wrong += !good;
    ++*(s->is_subscription ? &x->n_subs : &x->n_streams);
    x->in += s->is_subscription ? s->in_samples : 0;
    x->out += s->is_subscription ? s->out_samples : 0;
    x->conn = s->conn;
    x->stream = s->stream;
}

static struct seen sessions_see(struct rill_client *ctl)
{
    struct seen x = { .n_wrong = 0 };
    CHECK_OF(ctl, rill_client_ctl_sessions(ctl, on_session, &x) == 0);
    CHECK(x.n_wrong == 0, "%u wrong", x.n_wrong);
    return x;
}

static void subscribe_all(struct rill_client **readers)
{
    const struct rill_client_subscribe s = { .topic = "topic-001",
                                             .out = { 0, 2, RILL_CLIENT_S16 } };
    for (int i = 0; i < N_READERS; i++)
        for (uint32_t id = 1; id <= N_SUBS; id++)
            CHECK_OF(readers[i], rill_client_subscribe(readers[i], id * 3, &s, NULL) == 0);
}

/* topic-001 is where i * 37 is 1 more than a multiple of N_TOPICS. */
static void topic_feed(struct rill_client **sources, size_t n)
{
    uint32_t i = 0;
    while (i * 37 % N_TOPICS != 1)
        i++;
    CHECK_OF(sources[i % n], rill_client_send(sources[i % n], i + 1, silence, sizeof silence) == 0);
}

static void test_sessions(struct rill_client **sources, size_t n)
{
    struct rill_client *readers[N_READERS], *ctl = client_of(rig.ctl, "lists");
    for (int i = 0; i < N_READERS; i++)
        readers[i] = client_of(rig.sock, "lists");
    struct seen x = sessions_see(ctl);
    CHECK(x.n_streams == N_TOPICS && !x.n_subs, "%u streams", x.n_streams);
    subscribe_all(readers);
    topic_feed(sources, n);
    uint64_t want = N_READERS * N_SUBS * 1280; /* two pulses and a half less the delay */
    for (uint64_t end = now_ms() + 20000; x.out < want && now_ms() < end; usleep(20000)) {
        for (int i = 0; i < N_READERS; i++)
            rill_client_poll(readers[i], 0);
        x = sessions_see(ctl);
    }
    CHECK(x.n_streams == N_TOPICS && x.n_subs == N_READERS * N_SUBS && x.out >= want &&
              x.in == x.out,
          "%u streams, %u subscriptions, %llu in, %llu out", x.n_streams, x.n_subs, LLU(x.in),
          LLU(x.out));
    CHECK(rill_client_unsubscribe(readers[1], 6, NULL) == 0);
    CHECK(sessions_see(ctl).n_subs == N_READERS * N_SUBS - 1);
    rill_client_free(readers[0]);
    for (uint64_t end = now_ms() + 20000; now_ms() < end; usleep(20000))
        if (sessions_see(ctl).n_subs == (N_READERS - 1) * N_SUBS - 1)
            break;
    CHECK(sessions_see(ctl).n_subs == (N_READERS - 1) * N_SUBS - 1);
    for (int i = 1; i < N_READERS; i++)
        rill_client_free(readers[i]);
    rill_client_free(ctl);
}

int main(void)
{
    struct rill_client *sources[6];
    rig_start(&rig, "");
    test_models();
    test_used_models();
    for (size_t i = 0; i < 6; i++)
        sources[i] = client_of(rig.sock, "lists");
    topics_make(sources, 6);
    test_topics(sources[0]);
    test_small_pages();
    small_stats_see(rig.sock, false);
    small_stats_see(rig.ctl, true);
    test_sessions(sources, 6);
    for (size_t i = 0; i < 6; i++)
        rill_client_free(sources[i]);
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
