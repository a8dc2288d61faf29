/* SPDX-License-Identifier: MIT */
/* Random conversations: messages that parse and hold wild values, in any order, cut anywhere, and
 * bytes flipped now and then. The daemon may answer what it likes, but it lives, frees everything,
 * and the bystander's stream is bit for bit what it is without the noise. */
#include "tests/daemon/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define N_TALKS 600
#define N_MESSAGES 60

static struct rig rig;
static uint32_t seed = 20;

static uint32_t rnd(uint32_t n)
{
    noise(&seed);
    return (uint32_t) ((uint64_t) seed * n >> 32);
}

static uint64_t wild(void)
{
    static const uint64_t values[] = { 0,        1,          2,          255,
                                       65535,    UINT32_MAX, UINT64_MAX, UINT64_MAX / 2,
                                       1u << 31, 480 };
    return rnd(3) ? rnd(4) : values[rnd(10)];
}

static const char *wild_text(void)
{
    static char long_text[400];
    static const char *const texts[] = { "",      "wiener", "both",    "vad",   "../x",
                                         "a\xff", "W",      "trimmed", "broken" };
    if (rnd(12))
        return texts[rnd(9)];
    memset(long_text, 'a', sizeof long_text - 1);
    return long_text;
}

/* Everything a random message may point to. */
struct talk {
    Rill__ClientFrame f;
    Rill__Hello hello;
    Rill__OpenStream open;
    Rill__Pcm in, out;
    Rill__Output want[3];
    Rill__Audio audio;
    Rill__Finish finish;
    Rill__Reset reset;
    Rill__Close close;
    Rill__Cancel cancel;
    Rill__Ping ping;
    Rill__Info info;
    Rill__Stats stats;
    Rill__Health health;
    Rill__CtlReload reload;
    uint32_t seq[4];
    uint64_t pos[4];
    uint8_t pcm[4096];
};

static void pcm_wild(Rill__Pcm *p)
{
    static const uint32_t rates[] = { 8000, 16000, 44100, 48000, 192000, 7999, 0 };
    rill__pcm__init(p);
    p->rate = rates[rnd(rnd(4) ? 4 : 7)];
    p->channels = rnd(10) ? 1 + rnd(2) : rnd(12);
    p->enc = (Rill__Enc) (rnd(20) ? 1 + rnd(4) : rnd(9));
}

static void open_wild(struct talk *t)
{
    rill__open_stream__init(&t->open);
    pcm_wild(&t->in);
    pcm_wild(&t->out);
    t->open.stream = rnd(4);
    t->open.model = (char *) (uintptr_t) (rnd(3) ? "" : wild_text());
    t->open.in = rnd(20) ? &t->in : NULL;
    t->open.out = rnd(2) ? &t->out : NULL;
    t->open.pace = (Rill__Pace) (rnd(20) ? rnd(2) : rnd(9));
    t->open.align = (int) rnd(2);
    t->open.max_latency_ms = rnd(4) ? 0 : rnd(3);
    t->open.want = t->want;
    t->open.n_want = rnd(8) ? 0 : rnd(3);
    for (int i = 0; i < 3; i++)
        t->want[i] = (Rill__Output) rnd(7);
    t->seq[t->open.stream] = 0;
    t->pos[t->open.stream] = 0;
    t->f.m_case = RILL__CLIENT_FRAME__M_OPEN;
    t->f.open = &t->open;
}

static void audio_wild(struct talk *t)
{
    uint32_t id = rnd(4);
    rill__audio__init(&t->audio);
    t->audio.stream = id;
    t->audio.discont = rnd(10) == 0;
    t->audio.seq = rnd(20) ? t->seq[id]++ : (uint32_t) wild();
    t->audio.pos = rnd(20) ? t->pos[id] : wild();
    t->audio.pcm.data = t->pcm;
    t->audio.pcm.len = rnd(20) ? 24 * rnd(100) : rnd(sizeof t->pcm);
    t->pos[id] += t->audio.pcm.len / 2; /* right for one encoding, wrong for others */
    t->f.m_case = RILL__CLIENT_FRAME__M_AUDIO;
    t->f.audio = &t->audio;
}

static void small_wild(struct talk *t)
{
    switch (rnd(8)) {
#define SMALL(n, CASE, member, type)                                                               \
    case n:                                                                                        \
        rill__##type##__init(&t->member);                                                          \
        t->f.m_case = RILL__CLIENT_FRAME__M_##CASE;                                                \
        t->f.member = &t->member;
        SMALL(0, FINISH, finish, finish) t->finish.stream = rnd(4);
        break;
        SMALL(1, RESET, reset, reset) t->reset.stream = rnd(4);
        break;
        SMALL(2, CLOSE, close, close) t->close.stream = rnd(4);
        break;
        SMALL(3, CANCEL, cancel, cancel) t->cancel.stream = rnd(4);
        break;
        SMALL(4, PING, ping, ping) t->ping.payload.data = t->pcm;
        t->ping.payload.len = rnd(1200);
        break;
        SMALL(5, STATS, stats, stats) break;
        SMALL(6, HEALTH, health, health) break;
        SMALL(7, INFO, info, info) break;
#undef SMALL
    }
}

static size_t message_wild(struct talk *t, uint8_t *b, size_t cap)
{
    rill__client_frame__init(&t->f);
    t->f.req = (uint32_t) wild();
    uint32_t kind = rnd(20);
    if (kind < 4)
        open_wild(t);
    else if (kind < 14)
        audio_wild(t);
    else
        small_wild(t);
    size_t n = frame_make(b, cap, &t->f);
    if (rnd(60) == 0)
        b[rnd((uint32_t) n)] ^= (uint8_t) (1u << rnd(8));
    return n;
}

static void drain(int fd)
{
    char b[65536];
    while (recv(fd, b, sizeof b, MSG_DONTWAIT) > 0)
        ;
}

static void talk_play(struct talk *t)
{
    static uint8_t b[1 << 19];
    size_t n = 0;
    int fd = raw_hello(rig.sock);
    memset(t->seq, 0, sizeof t->seq);
    memset(t->pos, 0, sizeof t->pos);
    for (int i = 0; i < N_MESSAGES; i++)
        n += message_wild(t, b + n, sizeof b - n);
    for (size_t at = 0; at < n;) {
        size_t piece = 1 + rnd(rnd(2) ? 5000 : 20);
        piece = piece < n - at ? piece : n - at;
        if (!raw_send(fd, b + at, piece))
            break;
        at += piece;
        if (rnd(2))
            drain(fd);
    }
    if (rnd(2))
        usleep(1000);
    if (rnd(3) == 0)
        shutdown(fd, SHUT_WR);
    drain(fd);
    close(fd);
}

static bool bystander(struct result *r)
{
    struct rill_client_open o = OPEN(FILE, 44100, 2, F32, .align = true);
    static float x[2 * 30000];
    uint32_t s = 5;
    char err[512];
    for (int i = 0; i < 60000; i++)
        x[i] = noise(&s);
    return CHECK(stream_whole(rig.sock, &o, x, 30000, 8, 700, r, err), "%s", err);
}

int main(void)
{
    static struct talk t;
    struct result before, after;
    for (size_t i = 0; i < sizeof t.pcm; i++)
        t.pcm[i] = (uint8_t) rnd(256);
    rig_start(&rig, "[log]\nlevel = error\n[limits]\nmax_connections_per_uid = 200\n");
    bool good = bystander(&before);
    for (int k = 0; k < N_TALKS && !n_failed; k++) {
        talk_play(&t);
        if (k % 30 == 0 && good && bystander(&after)) {
            CHECK(after.bytes == before.bytes && memcmp(after.pcm, before.pcm, before.bytes) == 0,
                  "talk %d", k);
            result_free(&after);
        }
    }
    struct rill_client_stats st = { .streams = 9 };
    struct rill_client *c = client_of(rig.sock, "counter");
    for (uint64_t end = now_ms() + 30000; st.streams + st.connections > 1 && now_ms() < end;
         usleep(20000))
        if (!CHECK_OF(c, rill_client_stats(c, &st, NULL, NULL) == 0))
            break;
    CHECK(st.streams == 0 && st.connections == 1, "%u streams, %u connections are left", st.streams,
          st.connections);
    printf("%llu streams opened, %llu refused, %llu errors\n", LLU(st.streams_opened),
           LLU(st.streams_refused), LLU(st.protocol_errors));
    CHECK(st.streams_opened > 100);
    rill_client_free(c);
    result_free(&before);
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
