/* SPDX-License-Identifier: MIT */
/* Published streams: what subscribers get, when they lose, who may. The models are those of
 * fake_rill.c. */
#include "tests/daemon/fake_rill.h"
#include "tests/daemon/harness.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 1600
#define RATE 16000

static struct rig rig;
static float noises[20 * RATE];

/* A publisher with a stream 1 and what came back. */
struct source {
    struct rill_client *c;
    struct result r;
    size_t sent, lag; /* lag: samples that come late */
};

/* A client with a subscription 1. */
struct reader {
    struct rill_client *c;
    struct result r;
    struct rill_client_subscribed sub;
    struct rill_client_finished fin;
    uint64_t lost; /* summed over gaps */
    unsigned n_slow;
    bool finished;
    uint64_t audio_pos[4096]; /* of each piece, and its offset in r.pcm */
    size_t audio_at[4096];
};

static void on_audio(void *arg, const struct rill_client_audio *a)
{
    struct reader *x = arg;
    if (x->r.bytes + a->bytes > x->r.cap) {
        x->r.cap = (x->r.bytes + a->bytes) * 2;
        x->r.pcm = realloc(x->r.pcm, x->r.cap);
    }
    memcpy(x->r.pcm + x->r.bytes, a->pcm, a->bytes);
    x->audio_pos[x->r.n_audio % 4096] = a->pos;
    x->audio_at[x->r.n_audio++ % 4096] = x->r.bytes;
    x->r.bytes += a->bytes;
}

static void on_vad(void *arg, const struct rill_client_vad *v)
{
    struct reader *x = arg;
    x->r.n_vad++;
    x->r.vad_pos = v->pos;
}

static void on_gap(void *arg, const struct rill_client_gap *g)
{
    struct reader *x = arg;
    x->r.n_gap++;
    x->r.gap = *g;
    x->lost += g->samples;
    x->n_slow += g->reason == RILL__GAP__REASON__REASON_SLOW;
}

static void on_finished(void *arg, const struct rill_client_finished *f)
{
    struct reader *x = arg;
    x->fin = *f;
    x->finished = true;
}

static void on_error(void *arg, const struct rill_client_failure *e)
{
    struct reader *x = arg;
    x->r.error_code = e->code;
}

static void reader_connect(struct reader *x)
{
    struct rill_client_events ev = { .arg = x,
                                     .audio = on_audio,
                                     .vad = on_vad,
                                     .gap = on_gap,
                                     .finished = on_finished,
                                     .error = on_error };
    memset(x, 0, sizeof *x);
    CHECK_OF(x->c, rill_client_connect(&x->c, rig.sock, "reader", 20000) == 0);
    rill_client_set_events(x->c, &ev);
}

static bool reader_subscribe(struct reader *x, const struct rill_client_subscribe *s)
{
    reader_connect(x);
    return CHECK_OF(x->c, rill_client_subscribe(x->c, 1, s, &x->sub) == 0);
}

static void reader_close(struct reader *x)
{
    rill_client_free(x->c);
    result_free(&x->r);
}

/* Reads until so many samples came, or the end; false when nothing comes. */
static bool reader_read(struct reader *x, size_t n_samples, size_t frame_bytes)
{
    for (uint64_t end = now_ms() + 20000; now_ms() < end;) {
        if (x->r.bytes >= n_samples * frame_bytes || rill_client_ended(x->c, 1))
            return true;
        if (rill_client_poll(x->c, 1000) < 0)
            return false;
    }
    return false;
}

static bool reader_end(struct reader *x)
{
    return reader_read(x, SIZE_MAX / 64, 1) && CHECK_OF(x->c, x->finished);
}

static void source_open(struct source *s, const char *model, enum rill_client_pace pace, bool align)
{
    struct rill_client_open o = {
        .model = model, .in = { RATE, 1, RILL_CLIENT_F32 }, .pace = pace, .align = align
    };
    memset(s, 0, sizeof *s);
    s->lag = align ? 256 : 0;
    CHECK_OF(s->c, rill_client_connect(&s->c, rig.sock, "source", 20000) == 0);
    s->r.frame_bytes = sizeof(float);
    result_listen(s->c, &s->r);
    CHECK_OF(s->c, rill_client_open(s->c, 1, &o, NULL) == 0);
}

static bool source_publish(struct source *s, const char *topic, uint32_t keep_ms, bool for_all,
                           bool mute)
{
    struct rill_client_publish p = {
        .topic = topic, .keep_ms = keep_ms, .for_all = for_all, .mute = mute
    };
    return CHECK_OF(s->c, rill_client_publish(s->c, 1, &p, NULL) == 0);
}

/* The next samples, and everything that comes of them. The models have whole pulses of 512 and a
 * delay of 256. */
static void source_send(struct source *s, size_t n)
{
    CHECK_OF(s->c, rill_client_send(s->c, 1, noises + s->sent, n * sizeof(float)) == 0);
    s->sent += n;
}

static void wait_source(struct source *s)
{
    size_t out = s->sent / 512 * 512 - s->lag;
    for (uint64_t end = now_ms() + 20000; s->r.bytes < out * sizeof(float) && now_ms() < end;)
        if (rill_client_poll(s->c, 1000) < 0)
            break;
    CHECK(s->r.bytes >= out * sizeof(float), "%zu of %zu samples came back",
          s->r.bytes / sizeof(float), out);
}

static void source_finish(struct source *s)
{
    CHECK_OF(s->c, rill_client_finish(s->c, 1, &s->r.fin) == 0);
}

static void source_close(struct source *s)
{
    rill_client_free(s->c);
    result_free(&s->r);
}

/* ---- who reads gets the source's bits; who does not holds nobody back and is told what it lost
 * ---- */

static int raw_subscribe(const char *topic, Rill__From from)
{
    int fd = raw_hello(rig.sock);
    FRAME(f, m, Subscribe, SUBSCRIBE, subscribe);
    m.topic = (char *) (uintptr_t) topic;
    m.stream = 1;
    m.from = from;
    f.req = 2;
    CHECK(raw_frame(fd, &f));
    return fd;
}

/* What a late reader gets: each piece is the source's at its place, and with the gaps it is
 * everything. */
static void late_check(const struct reader *late, const struct source *s)
{
    size_t at = 0;
    bool same = true;
    for (unsigned i = 0; i < late->r.n_audio; i++) {
        size_t n =
            (i + 1 < late->r.n_audio ? late->audio_at[i + 1] : late->r.bytes) - late->audio_at[i];
        same &= memcmp(late->r.pcm + late->audio_at[i],
                       s->r.pcm + late->audio_pos[i] * sizeof(float), n) == 0;
        at += n / sizeof(float);
    }
    CHECK(same);
    CHECK(late->n_slow == 1 && late->lost > 0, "%u gaps, %llu samples", late->n_slow,
          LLU(late->lost));
    CHECK(at + late->lost == s->sent, "%zu came, %llu lost of %zu", at, LLU(late->lost), s->sent);
    CHECK(late->fin.out == at && late->fin.dropped == late->lost && late->fin.in == s->sent &&
          !late->fin.cancelled);
}

static void test_bits(void)
{
    static struct reader fast, late;
    struct source s;
    source_open(&s, "both", RILL_CLIENT_FILE, true);
    source_publish(&s, "mic", 0, false, false);
    reader_subscribe(&fast, &(struct rill_client_subscribe) { .topic = "mic" });
    reader_subscribe(&late,
                     &(struct rill_client_subscribe) { .topic = "mic", .want = RILL_CLIENT_AUDIO });
    int never = raw_subscribe("mic", RILL__FROM__FROM_NOW);
    CHECK(fast.sub.pos == 0 && fast.sub.in_rate == RATE && strcmp(fast.sub.model, "both") == 0);
    CHECK(fast.sub.outputs == (RILL_CLIENT_AUDIO | RILL_CLIENT_VAD) &&
          late.sub.outputs == RILL_CLIENT_AUDIO);
    while (s.sent + PIECE <= sizeof noises / sizeof *noises) {
        source_send(&s, PIECE);
        wait_source(&s);
        CHECK(reader_read(&fast, s.r.bytes / sizeof(float), sizeof(float)));
    }
    source_finish(&s);
    CHECK(reader_end(&fast) && fast.r.bytes == s.sent * sizeof(float) && fast.r.bytes == s.r.bytes);
    CHECK(memcmp(fast.r.pcm, s.r.pcm, s.r.bytes) == 0);
    CHECK(fast.r.n_gap == 0 && fast.r.n_vad == s.r.n_vad && fast.fin.out == s.sent &&
          !fast.fin.cancelled);
    CHECK(reader_end(&late));
    late_check(&late, &s);
    CHECK(late.r.n_vad == 0);
    close(never);
    reader_close(&fast);
    reader_close(&late);
    source_close(&s);
}

/* ---- a live source: who never reads is disconnected like others ---- */

static void test_never_reads(void)
{
    static struct reader fast;
    struct source s;
    bool gone = false;
    source_open(&s, "wiener", RILL_CLIENT_LIVE, true);
    source_publish(&s, "mic", 0, false, false);
    reader_subscribe(&fast, &(struct rill_client_subscribe) { .topic = "mic" });
    int never = raw_subscribe("mic", RILL__FROM__FROM_NOW);
    for (uint64_t end = now_ms() + 20000; !gone && now_ms() < end;) {
        if (s.sent + PIECE > sizeof noises / sizeof *noises)
            break;
        source_send(&s, PIECE);
        wait_source(&s);
        CHECK(reader_read(&fast, s.r.bytes / sizeof(float), sizeof(float)));
        usleep(20000);
        gone = rig_log_has(&rig, "SLOW_CONSUMER", 0);
    }
    CHECK(gone, "%zu samples", s.sent);
    CHECK(raw_error(never, 15000) == RILL__CODE__SLOW_CONSUMER);
    source_finish(&s);
    CHECK(reader_end(&fast) && fast.r.bytes == s.r.bytes &&
          memcmp(fast.r.pcm, s.r.pcm, s.r.bytes) == 0 && fast.r.n_gap == 0);
    close(never);
    reader_close(&fast);
    source_close(&s);
}

/* ---- where a subscription begins ---- */

static void from_check(struct source *s, const struct rill_client_subscribe *o, uint64_t first)
{
    static struct reader x;
    size_t n = s->r.bytes / sizeof(float) - first;
    if (!reader_subscribe(&x, o))
        return;
    CHECK(x.sub.pos == first, "%llu, not %llu", LLU(x.sub.pos), LLU(first));
    CHECK(reader_read(&x, n, sizeof(float)) && x.r.bytes == n * sizeof(float), "%zu of %zu",
          x.r.bytes / sizeof(float), n);
    CHECK(!n ||
          (x.audio_pos[0] == first &&
           memcmp(x.r.pcm, s->r.pcm + first * sizeof(float), x.r.bytes) == 0));
    CHECK(rill_client_unsubscribe(x.c, 1, &x.fin) == 0 && x.fin.cancelled && x.fin.out == n &&
          x.fin.in == n);
    reader_close(&x);
}

static void test_from(void)
{
    static struct reader x;
    struct source s;
    uint32_t kept = 0;
    source_open(&s, "wiener", RILL_CLIENT_FILE,
                false); /* not aligned: what came back is a multiple of 512 */
    struct rill_client_publish p = { .topic = "past", .keep_ms = 700000 };
    CHECK(rill_client_publish(s.c, 1, &p, &kept) == 0 && kept == 500, "%u", kept);
    for (int i = 0; i < 20; i++)
        source_send(&s, PIECE);
    wait_source(&s);
    uint64_t newest = s.r.bytes / sizeof(float);
    uint64_t oldest = (newest - 500 * RATE / 1000 + 511) / 512 * 512;
    from_check(&s, &(struct rill_client_subscribe) { .topic = "past" }, newest);
    from_check(&s, &(struct rill_client_subscribe) { .topic = "past", .from = RILL_CLIENT_OLDEST },
               oldest);
    from_check(&s,
               &(struct rill_client_subscribe) {
                   .topic = "past", .from = RILL_CLIENT_POS, .pos = 7 },
               oldest);
    from_check(&s,
               &(struct rill_client_subscribe) {
                   .topic = "past", .from = RILL_CLIENT_POS, .pos = newest - 1001 },
               newest - 1001);
    uint64_t later = newest + 5001;
    reader_subscribe(&x,
                     &(struct rill_client_subscribe) {
                         .topic = "past", .from = RILL_CLIENT_POS, .pos = later });
    for (int i = 0; i < 10; i++)
        source_send(&s, PIECE);
    source_finish(&s);
    CHECK(reader_end(&x) && x.sub.pos == later && x.audio_pos[0] == later);
    CHECK(x.r.bytes == s.r.bytes - later * sizeof(float) &&
          memcmp(x.r.pcm, s.r.pcm + later * sizeof(float), x.r.bytes) == 0);
    CHECK(x.fin.in == x.fin.out && x.r.n_gap == 0);
    reader_close(&x);
    source_close(&s);
}

/* ---- a format of one's own ---- */

static void test_format(void)
{
    static struct reader x;
    struct source s;
    source_open(&s, "wiener", RILL_CLIENT_FILE, true);
    source_publish(&s, "mic", 0, false, true);
    reader_subscribe(&x,
                     &(struct rill_client_subscribe) { .topic = "mic",
                                                       .out = { 0, 2, RILL_CLIENT_S16 } });
    struct rill_client_subscribe other = { .topic = "mic", .out = { 48000, 1, RILL_CLIENT_S16 } };
    CHECK_OF(x.c,
             rill_client_subscribe(x.c, 2, &other, NULL) < 0 &&
                 rill_client_error_code(x.c) == RILL__CODE__BAD_FORMAT &&
                 strstr(rill_client_error(x.c), "16000 Hz"));
    source_send(&s, PIECE);
    source_finish(&s);
    CHECK(reader_end(&x) && x.r.bytes == PIECE * 4, "%zu bytes", x.r.bytes);
    bool same = true;
    for (size_t i = 0; i < PIECE && i * 4 < x.r.bytes; i++) {
        int16_t y[2];
        memcpy(y, x.r.pcm + i * 4, sizeof y);
        float want = noises[i] * 32768;
        same &= y[0] == y[1] && (float) y[0] > want - 0.51f && (float) y[0] < want + 0.51f;
    }
    CHECK(same);
    CHECK(s.r.bytes == 0 && s.r.fin.out == PIECE, "a muted publisher got %zu bytes", s.r.bytes);
    reader_close(&x);
    source_close(&s);
}

/* ---- ends, gaps of the source, refusals ---- */

static void test_ends(void)
{
    static struct reader x, y;
    struct source s;
    source_open(&s, "both", RILL_CLIENT_FILE, true);
    source_publish(&s, "mic", 0, false, false);
    reader_subscribe(&x, &(struct rill_client_subscribe) { .topic = "mic" });
    reader_subscribe(&y,
                     &(struct rill_client_subscribe) { .topic = "mic", .want = RILL_CLIENT_VAD });
    source_send(&s, 2 * PIECE);
    rill_client_skip(s.c, 1, 4000);
    source_send(&s, PIECE);
    CHECK(reader_read(&x, 2 * PIECE + 512, sizeof(float)));
    CHECK(x.r.n_gap == 1 && x.r.gap.pos == 2 * PIECE && x.r.gap.samples == 4000 && !x.n_slow,
          "%u gaps", x.r.n_gap);
    reader_close(&y); /* a subscriber that goes disturbs nobody */
    source_send(&s, PIECE);
    CHECK(reader_read(&x, 3 * PIECE, sizeof(float)));
    source_close(&s); /* so does not say Finish */
    CHECK(reader_end(&x) && x.fin.cancelled);
    source_open(&s, "both", RILL_CLIENT_FILE, true);
    CHECK(source_publish(&s, "mic", 0, false, false)); /* the name is free again */
    CHECK_OF(x.c,
             rill_client_subscribe(x.c, 2, &(struct rill_client_subscribe) { .topic = "mic" },
                                   NULL) == 0);
    CHECK(rill_client_cancel(s.c, 1) == 0);
    for (uint64_t end = now_ms() + 15000; !rill_client_ended(x.c, 2) && now_ms() < end;)
        rill_client_poll(x.c, 100);
    CHECK(rill_client_ended(x.c, 2) && x.fin.stream == 2 && x.fin.cancelled);
    reader_close(&x);
    source_close(&s);
}

/* Subscribers get all that the source gave before its model stopped, and its reason. */
static void test_fault(void)
{
    static struct reader x;
    float stop[512] = { FAKE_STOP };
    struct source s;
    source_open(&s, "both", RILL_CLIENT_FILE, true);
    source_publish(&s, "mic", 0, false, false);
    reader_subscribe(&x, &(struct rill_client_subscribe) { .topic = "mic" });
    source_send(&s, 4 * 512);
    CHECK_OF(s.c, rill_client_send(s.c, 1, stop, sizeof stop) == 0);
    for (uint64_t end = now_ms() + 15000; !x.r.error_code && now_ms() < end;)
        rill_client_poll(x.c, 100);
    CHECK(x.r.error_code == RILL__CODE__MODEL_FAILED &&
              strstr(rill_client_error(x.c), "the source of the topic failed: node 'table'"),
          "%d: %s", x.r.error_code, rill_client_error(x.c));
    CHECK(x.r.bytes == (4 * 512 - s.lag) * sizeof(float) && !x.finished, "%zu bytes", x.r.bytes);
    CHECK_OF(x.c,
             rill_client_subscribe(x.c, 2, &(struct rill_client_subscribe) { .topic = "mic" },
                                   NULL) < 0 &&
                 rill_client_error_code(x.c) == RILL__CODE__NO_TOPIC);
    reader_close(&x);
    source_close(&s);
}

static int subscribe_code(struct rill_client *c, uint32_t id, const struct rill_client_subscribe *s)
{
    return rill_client_subscribe(c, id, s, NULL) == 0 ? 0 : rill_client_error_code(c);
}

static int publish_code(struct rill_client *c, uint32_t id, const char *topic)
{
    struct rill_client_publish p = { .topic = topic };
    return rill_client_publish(c, id, &p, NULL) == 0 ? 0 : rill_client_error_code(c);
}

static void test_refusals(void)
{
    struct source s, other;
    source_open(&s, "wiener", RILL_CLIENT_FILE, true);
    source_open(&other, "wiener", RILL_CLIENT_FILE, true);
    CHECK(publish_code(s.c, 1, "") == RILL__CODE__BAD_ARG &&
          publish_code(s.c, 1, ".x") == RILL__CODE__BAD_ARG);
    CHECK(publish_code(s.c, 1, "a/b") == RILL__CODE__BAD_ARG &&
          publish_code(s.c, 1, "A") == RILL__CODE__BAD_ARG);
    CHECK(publish_code(s.c, 1, "mic") == 0 && publish_code(s.c, 1, "mic2") == RILL__CODE__BAD_ARG);
    CHECK(publish_code(other.c, 1, "mic") == RILL__CODE__BAD_ARG &&
          publish_code(other.c, 1, "mic2") == 0);
    CHECK(subscribe_code(s.c, 2, &(struct rill_client_subscribe) { .topic = "nobody" }) ==
          RILL__CODE__NO_TOPIC);
    CHECK(subscribe_code(s.c, 2,
                         &(struct rill_client_subscribe) {
                             .topic = "mic", .want = RILL_CLIENT_VAD }) == RILL__CODE__BAD_ARG);
    CHECK(subscribe_code(s.c, 2, &(struct rill_client_subscribe) { .topic = "mic", .from = 3 }) ==
          RILL__CODE__BAD_ARG);
    /* One may listen to oneself, and a subscription takes no audio. */
    CHECK(subscribe_code(s.c, 2, &(struct rill_client_subscribe) { .topic = "mic" }) == 0);
    CHECK(rill_client_reset(s.c, 2) == 0);
    for (uint64_t end = now_ms() + 15000; !s.r.error_code && now_ms() < end;)
        rill_client_poll(s.c, 100);
    CHECK(s.r.error_code == RILL__CODE__BAD_ARG && !rill_client_ended(s.c, 2));
    source_send(&s, PIECE);
    CHECK_OF(s.c, rill_client_unsubscribe(s.c, 2, NULL) == 0);
    source_finish(&s);
    source_close(&s);
    source_close(&other);
}

/* ---- who may ---- */

static void topic_count(void *arg, const struct rill_client_topic *t)
{
    unsigned *seen = arg;
    *seen |= strcmp(t->name, "own") == 0 ? 1
        : strcmp(t->name, "open") == 0 && t->for_all && t->keep_ms == 300 && t->out.rate == RATE &&
            t->outputs == RILL_CLIENT_AUDIO
        ? 2
        : 4;
}

/* Another user: bits of what went wrong. */
static int other_user(void)
{
    struct rill_client *c = NULL;
    unsigned seen = 0;
    if (setgid(65534) < 0 || setuid(65534) < 0 ||
        rill_client_connect(&c, rig.sock, "other", 20000) < 0)
        return 64;
    int bad = subscribe_code(c, 1, &(struct rill_client_subscribe) { .topic = "own" }) ==
            RILL__CODE__DENIED
        ? 0
        : 1;
    bad |= subscribe_code(c, 2, &(struct rill_client_subscribe) { .topic = "open" }) == 0 ? 0 : 2;
    bad |= rill_client_topics(c, topic_count, &seen) == 0 && seen == 2 ? 0 : 4;
    rill_client_free(c);
    return bad;
}

static void test_users(void)
{
    struct source own, open;
    unsigned seen = 0;
    int status = -1;
    source_open(&own, "wiener", RILL_CLIENT_FILE, true);
    source_open(&open, "wiener", RILL_CLIENT_FILE, true);
    source_publish(&own, "own", 0, false, false);
    source_publish(&open, "open", 300, true, false);
    CHECK(rill_client_topics(own.c, topic_count, &seen) == 0 && seen == 3, "%u", seen);
    if (getuid() != 0 || chmod(rig.dir, 0755) < 0) {
        check_skip("another user's rights: this is not root");
    } else {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            _exit(other_user());
        waitpid(pid, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned) status);
    }
    source_close(&own);
    source_close(&open);
}

/* Both Finished come together; each stream gets its own. */
static void test_one_connection(void)
{
    struct source s;
    source_open(&s, "both", RILL_CLIENT_FILE, true);
    source_publish(&s, "self", 0, false, true);
    CHECK_OF(s.c,
             rill_client_subscribe(s.c, 2,
                                   &(struct rill_client_subscribe) { .topic = "self",
                                                                     .want = RILL_CLIENT_VAD },
                                   NULL) == 0);
    source_send(&s, PIECE);
    source_finish(&s);
    CHECK(s.r.fin.stream == 1 && s.r.fin.in == PIECE && s.r.fin.out == PIECE, "stream %u, %llu in",
          s.r.fin.stream, LLU(s.r.fin.in));
    for (uint64_t end = now_ms() + 15000; !rill_client_ended(s.c, 2) && now_ms() < end;)
        rill_client_poll(s.c, 100);
    CHECK(rill_client_ended(s.c, 2));
    source_close(&s);
}

/* ---- an ended source is not kept for who hardly reads ---- */

static uint64_t topics_memory(struct rill_client *c)
{
    struct rill_client_stats st = { .memory_topics_bytes = 1 };
    CHECK_OF(c, rill_client_stats(c, &st, NULL, NULL) == 0);
    return st.memory_topics_bytes;
}

/* Until the histories are gone, reading at most 100 kB a second; false after a minute. */
static bool gone_while_read(struct rill_client *c, int fd, unsigned *ret_reads, size_t *ret_bytes)
{
    uint8_t b[2000];
    for (uint64_t end = now_ms() + 60000; now_ms() < end; usleep(20000)) {
        if (!topics_memory(c))
            return true;
        ssize_t n = recv(fd, b, sizeof b, MSG_DONTWAIT);
        *ret_reads += n > 0;
        *ret_bytes += n > 0 ? (size_t) n : 0;
    }
    return false;
}

/* The ended source's history goes after the 3 s that are kept and a second, and output_stall_ms,
 * though it is read all the time: with most of it unread, as eight channels of floats take 15 s so.
 * Who reads it gets it. */
static void test_ended_slowly(void)
{
    static struct reader good;
    const struct rill_client_pcm wide = { 0, 8, RILL_CLIENT_F32 };
    struct source s;
    const size_t tape_bytes = 30 * PIECE * 8 * sizeof(float);
    size_t n_bytes = 0;
    unsigned n_reads = 0;
    source_open(&s, "wiener", RILL_CLIENT_FILE, true);
    source_publish(&s, "mic", 3000, false, false);
    struct rill_client *asker = client_of(rig.sock, "asker");
    reader_subscribe(&good, &(struct rill_client_subscribe) { .topic = "mic" });
    struct rill_client *slow = client_of(rig.sock, "slow");
    CHECK_OF(slow,
             rill_client_subscribe(slow, 1,
                                   &(struct rill_client_subscribe) { .topic = "mic", .out = wide },
                                   NULL) == 0);
    for (int i = 0; i < 30; i++) {
        source_send(&s, PIECE);
        wait_source(&s);
        CHECK(reader_read(&good, s.sent / 512 * 512 - s.lag, sizeof(float)));
    }
    uint64_t began = now_ms();
    source_finish(&s);
    source_close(&s);
    CHECK(reader_end(&good) && good.r.bytes == 30 * PIECE * sizeof(float));
    reader_close(&good);
    CHECK(topics_memory(asker) > 100000, "the one that does not read has the history");
    CHECK(gone_while_read(asker, rill_client_fd(slow), &n_reads, &n_bytes),
          "the history is still there after %zu bytes", n_bytes);
    CHECK(n_reads > 10 && n_bytes < tape_bytes * 2 / 3 && now_ms() - began > 4000,
          "%zu of %zu bytes in %u reads and %u ms", n_bytes, tape_bytes, n_reads,
          (unsigned) (now_ms() - began));
    CHECK(rig_log_has(&rig, "the topic ended long ago", 15000));
    rill_client_free(asker);
    rill_client_free(slow);
}

static void test_no_number(void)
{
    FRAME(f, m, Unsubscribe, UNSUBSCRIBE, unsubscribe);
    int fd = raw_hello(rig.sock);
    CHECK(raw_frame(fd, &f) && raw_error(fd, 15000) == RILL__CODE__NO_STREAM);
    close(fd);
}

int main(void)
{
    uint32_t seed = 11;
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++)
        noises[i] = noise(&seed);
    rig_start(&rig,
              "preload = wiener\n[daemon]\nsocket_mode = 0666\n[limits]\ntopic_keep_ms = "
              "500\noutput_soft_ms = 200\n"
              "output_soft_grace_ms = 300\n");
    test_bits();
    test_never_reads();
    test_from();
    test_format();
    test_ends();
    test_fault();
    test_refusals();
    test_one_connection();
    test_no_number();
    test_users();
    CHECK(rig_stop(&rig) == 0);
    rig_start(&rig,
              "[limits]\ntopic_keep_ms = 3000\noutput_stall_ms = 2000\n"
              "output_soft_grace_ms = 60000\n");
    test_ended_slowly();
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
