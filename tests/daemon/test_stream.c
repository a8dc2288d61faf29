/* SPDX-License-Identifier: MIT */
/* Whole streams: what comes back is exactly as long as it must be, at every rate and encoding, and
 * nobody's stream depends on anybody else's. */
#include "tests/daemon/fake_rill.h"
#include "tests/daemon/harness.h"

#include <math.h>
#include <sys/socket.h>
#include <unistd.h>

static struct rig rig;
static const size_t enc_bytes[] = { 0, 2, 3, 4, 4 };

static uint64_t expect_samples(uint64_t n, uint32_t to, uint32_t from)
{
    return (n * to + from - 1) / from;
}

static void put_sample(uint8_t *p, enum rill_client_enc enc, float x)
{
    int64_t v = llrintf(x *
                        (enc == RILL_CLIENT_S16       ? 0x1p15f
                             : enc == RILL_CLIENT_S24 ? 0x1p23f
                                                      : 0x1p31f));
    if (enc == RILL_CLIENT_F32)
        memcpy(p, &x, 4);
    else
        for (size_t i = 0; i < enc_bytes[enc]; i++)
            p[i] = (uint8_t) ((uint64_t) v >> (8 * i));
}

static uint8_t *noise_make(const struct rill_client_pcm *pcm, size_t n_frames)
{
    uint32_t seed = 77;
    size_t bytes = enc_bytes[pcm->enc];
    uint8_t *b = malloc(n_frames * bytes * pcm->channels + 1);
    for (size_t i = 0; i < n_frames; i++) {
        float x = noise(&seed);
        for (uint32_t c = 0; c < pcm->channels; c++)
            put_sample(b + (i * pcm->channels + c) * bytes, pcm->enc, x);
    }
    return b;
}

/* ---- encodings ---- */

static void test_encoding(enum rill_client_enc enc, uint32_t channels, bool align)
{
    struct rill_client_open o = { .in = { 16000, channels, enc },
                                  .pace = RILL_CLIENT_FILE,
                                  .align = align };
    const size_t n = 5003, frame = enc_bytes[enc] * channels;
    struct result r;
    char err[512];
    uint8_t *pcm = noise_make(&o.in, n);
    if (CHECK(stream_whole(rig.sock, &o, pcm, n, frame, 333, &r, err), "%s", err)) {
        size_t late = align ? 0 : r.opened.latency_samples;
        CHECK(r.fin.in == n && r.fin.out == n + late && r.fin.processed == n && r.fin.dropped == 0);
        CHECK(r.bytes == (n + late) * frame && r.pos_good && r.first_pos == 0);
        /* The pass-through model gives back the same bytes. */
        if (is_fake() && r.bytes == (n + late) * frame)
            CHECK(memcmp(r.pcm + late * frame, pcm, n * frame) == 0, "enc %d channels %u align %d",
                  (int) enc, channels, align);
    }
    result_free(&r);
    free(pcm);
}

static void test_channels_mix(void)
{
    struct rill_client_open o =
        OPEN(FILE, 16000, 2, F32, .out = { 16000, 3, RILL_CLIENT_F32 }, .align = true);
    float x[2 * 1000];
    struct result r;
    char err[512];
    for (int i = 0; i < 1000; i++) {
        x[2 * i] = (float) i / 2048;
        x[2 * i + 1] = (float) -i / 4096;
    }
    if (CHECK(stream_whole(rig.sock, &o, x, 1000, 8, 100, &r, err), "%s", err) &&
        CHECK(r.bytes == 12000) && is_fake()) {
        bool good = true;
        for (int i = 0; i < 1000; i++)
            for (int c = 0; c < 3; c++) {
                float y;
                memcpy(&y, r.pcm + 12 * i + 4 * c, 4);
                good &= y == (x[2 * i] + x[2 * i + 1]) / 2;
            }
        CHECK(good);
    }
    result_free(&r);
}

/* A model that asks for what is not there ends its stream with the reason, and no other. */
static void test_stops(void)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = false);
    float x[8 * 512] = { [3 * 512] = FAKE_STOP };
    struct result r;
    char err[512];
    CHECK(!stream_whole(rig.sock, &o, x, 8 * 512, 4, 160, &r, err));
    CHECK(r.error_code == RILL__CODE__MODEL_FAILED && strstr(err, "index 9 is outside"), "%d: %s",
          r.error_code, err);
    CHECK(r.bytes == 3 * 512 * 4, "%zu bytes", r.bytes);
    result_free(&r);
    x[3 * 512] = 0;
    CHECK(stream_whole(rig.sock, &o, x, 8 * 512, 4, 160, &r, err), "%s", err);
    CHECK(rig_log_has(&rig, "index 9 is outside", 10000));
    result_free(&r);
}

/* ---- rates ---- */

static void test_rate(uint32_t in_rate, uint32_t out_rate, bool align, size_t n)
{
    struct rill_client_open o =
        OPEN(FILE, in_rate, 1, S16, .out = { out_rate, 1, RILL_CLIENT_S16 }, .align = align);
    struct result r;
    char err[512];
    uint8_t *pcm = noise_make(&o.in, n);
    if (CHECK(stream_whole(rig.sock, &o, pcm, n, 2, 977, &r, err), "%s", err)) {
        uint64_t want = expect_samples(n, out_rate, in_rate);
        if (!align && n)
            want += r.opened.latency_samples;
        CHECK(r.fin.out == want && r.bytes == want * 2 && r.fin.in == n && r.pos_good,
              "%u -> %u align %d: %zu in, %llu out, %llu wanted", in_rate, out_rate, align, n,
              LLU(r.fin.out), LLU(want));
    }
    result_free(&r);
    free(pcm);
}

static void test_rates(void)
{
    static const uint32_t rates[] = { 8000,  11025, 16000, 22050, 24000, 32000,  44056,
                                      44100, 47952, 48000, 88200, 96000, 191999, 192000 };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        test_rate(rates[i], rates[i], true, rates[i] / 4 + 1);
        test_rate(rates[i], rates[i], false, rates[i] / 4 + 7);
        test_rate(rates[i], 16000, true, 12345);
        test_rate(16000, rates[i], true, 4321);
    }
    test_rate(48000, 8000, true, 1);
    test_rate(8000, 192000, true, 1);
    test_rate(192000, 8000, false, 2);
    test_rate(44100, 48000, true, 0);
    test_rate(44100, 48000, false, 0);
}

/* A tone goes through two resamplers and stays where it was. */
static void test_alignment(void)
{
    struct rill_client_open o = OPEN(FILE, 48000, 1, F32, .align = true);
    static float x[48000];
    struct result r;
    char err[512];
    for (int i = 0; i < 48000; i++)
        x[i] = 0.5f * sinf((float) i * 2.0f * 3.14159265f * 440.0f / 48000.0f);
    if (CHECK(stream_whole(rig.sock, &o, x, 48000, 4, 480, &r, err), "%s", err) &&
        CHECK(r.bytes == sizeof x)) {
        float worst = 0;
        for (int i = 4000; i < 44000; i++) {
            float y;
            memcpy(&y, r.pcm + 4 * i, 4);
            worst = fmaxf(worst, fabsf(y - x[i]));
        }
        CHECK(worst < 1e-3f, "off by %g", (double) worst);
    }
    result_free(&r);
}

/* ---- several at once ---- */

static void test_streams_of_one_client(void)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, S16, .align = true);
    struct rill_client_finished f;
    static int16_t x[1600];
    struct rill_client *c = client_of(rig.sock, "many");
    for (uint32_t id = 1; id <= 8; id++)
        CHECK_OF(c, rill_client_open(c, id, &o, NULL) == 0);
    for (int k = 0; k < 5; k++)
        for (uint32_t id = 1; id <= 8; id++)
            CHECK(rill_client_send(c, id, x, 2 * (100 + 10 * id)) == 0);
    CHECK(rill_client_open(c, 3, &o, NULL) < 0);
    for (uint32_t id = 8; id >= 1; id--) {
        CHECK_OF(c, rill_client_finish(c, id, &f) == 0);
        CHECK(f.in == 5 * (100 + 10 * id) && f.out == f.in && f.stream == id);
    }
    CHECK(rill_client_open(c, 3, &o, NULL) == 0, "a number can be used again: %s",
          rill_client_error(c));
    CHECK(rill_client_cancel(c, 3) == 0);
    CHECK(rill_client_ping(c, NULL) == 0);
    rill_client_free(c);
}

static void test_live(void)
{
    struct rill_client_open o = OPEN(LIVE, 48000, 1, S16, .align = false);
    struct rill_client_opened opened;
    struct rill_client_finished f;
    static int16_t x[480];
    struct result r = { .frame_bytes = 2 };
    struct rill_client *c = client_of(rig.sock, "live");
    result_listen(c, &r);
    CHECK_OF(c, rill_client_open(c, 1, &o, &opened) == 0);
    CHECK(opened.credit_samples >= 4800 && opened.credit_samples >= 4 * 3 * opened.hop_samples);
    for (int k = 0; k < 40; k++) {
        CHECK(rill_client_send(c, 1, x, sizeof x) == 0);
        usleep(5000);
    }
    CHECK_OF(c, rill_client_finish(c, 1, &f) == 0);
    CHECK(f.in == 19200 && f.out == 19200 + opened.latency_samples && r.bytes == 2 * f.out);
    CHECK(f.audio_us == 400000 && f.rtf > 0 && f.rtf < 1000 && f.max_chunk_us > 0);
    rill_client_free(c);
    result_free(&r);
}

/* ---- positions ---- */

static void test_skip(bool align)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = align);
    struct rill_client_finished f;
    struct rill_client_opened opened;
    struct result r = { .frame_bytes = 4 };
    float x[1000];
    for (int i = 0; i < 1000; i++)
        x[i] = 0.001f * (float) i;
    struct rill_client *c = client_of(rig.sock, "skip");
    result_listen(c, &r);
    CHECK(rill_client_open(c, 1, &o, &opened) == 0);
    CHECK(rill_client_send(c, 1, x, sizeof x) == 0);
    CHECK(rill_client_skip(c, 1, 5000) == 0);
    CHECK(rill_client_send(c, 1, x, sizeof x) == 0);
    CHECK_OF(c, rill_client_finish(c, 1, &f) == 0);
    CHECK(f.in == 2000 && f.dropped == 5000 &&
          f.out == 2000 + (align ? 0 : opened.latency_samples));
    CHECK(r.n_gap == (align ? 1u : 2u) && r.gap.pos == 1000 && r.gap.samples == 5000, "%u",
          r.n_gap);
    CHECK(r.next_pos == 7000 + (align ? 0 : opened.latency_samples), "%llu", LLU(r.next_pos));
    if (align && is_fake())
        CHECK(memcmp(r.pcm, x, 4000) == 0 && memcmp(r.pcm + 4000, x, 4000) == 0);
    rill_client_free(c);
    result_free(&r);
}

static void test_reset(void)
{
    struct rill_client_open o = OPEN(FILE, 44100, 1, F32, .align = true);
    struct rill_client_finished f;
    struct result r = { .frame_bytes = 4 };
    static float x[3000];
    uint32_t seed = 3;
    for (int i = 0; i < 3000; i++)
        x[i] = noise(&seed);
    struct rill_client *c = client_of(rig.sock, "reset");
    result_listen(c, &r);
    CHECK(rill_client_open(c, 1, &o, NULL) == 0);
    for (int k = 0; k < 3; k++) {
        CHECK(rill_client_send(c, 1, x, sizeof x) == 0);
        CHECK(rill_client_reset(c, 1) == 0);
    }
    CHECK_OF(c, rill_client_finish(c, 1, &f) == 0);
    CHECK(f.in == 9000 && f.out == 9000 && r.bytes == 36000 && r.pos_good && r.n_gap == 0);
    /* Each segment starts from the same state, so all three are the same. */
    CHECK(r.bytes == 36000 && memcmp(r.pcm, r.pcm + 12000, 12000) == 0 &&
          memcmp(r.pcm, r.pcm + 24000, 12000) == 0);
    rill_client_free(c);
    result_free(&r);
}

/* A pulse that takes long makes what came meanwhile too late. */
static void test_late(void)
{
    struct rill_client_open o = OPEN(LIVE, 16000, 1, F32, .align = true, .max_latency_ms = 1000);
    struct rill_client_finished f;
    struct result r = { .frame_bytes = 4 };
    float x[1500] = { 0.765625f };
    struct rill_client *c = client_of(rig.sock, "late");
    result_listen(c, &r);
    CHECK(rill_client_open(c, 1, &o, NULL) == 0);
    rig_hold(&rig);
    CHECK(rill_client_send(c, 1, x, 512 * 4) == 0 && rig_held(&rig, 1));
    CHECK(rill_client_send(c, 1, x + 1, 700 * 4) == 0);
    CHECK(rill_client_send(c, 1, x + 1, 300 * 4) == 0);
    CHECK(rill_client_ping(c, NULL) == 0); /* they have come */
    usleep(1500000);
    rig_let_go(&rig);
    for (uint64_t end = now_ms() + 20000; !r.n_gap && now_ms() < end;)
        rill_client_poll(c, 100);
    CHECK(rill_client_send(c, 1, x + 1, 600 * 4) == 0);
    CHECK_OF(c, rill_client_finish(c, 1, &f) == 0);
    CHECK(f.in == 2112 && f.dropped == 1000 && f.processed == 1112 && f.out == 1112 &&
              r.bytes == 4448,
          "%llu dropped", LLU(f.dropped));
    CHECK(r.n_gap == 1 && r.gap.pos == 512 && r.gap.samples == 1000 &&
          r.gap.reason == RILL__GAP__REASON__REASON_LATE);
    CHECK(r.next_pos == 2112 && f.deadline_misses > 0 && f.max_chunk_us > 1400000);
    rill_client_free(c);
    result_free(&r);
}

/* ---- voice activity ---- */

static void test_vad(const char *model, uint32_t rate)
{
    struct rill_client_open o = OPEN(FILE, rate, 1, F32, .model = model, .align = true);
    size_t n = rate * 2;
    float *x = calloc(n, sizeof *x);
    struct result r;
    char err[512];
    for (size_t i = rate / 2; i < rate; i++) /* loud from 0.5 s to 1 s */
        x[i] = 0.8f * sinf((float) i * 0.07f * 16000.0f / (float) rate);
    if (CHECK(stream_whole(rig.sock, &o, x, n, 4, 441, &r, err), "%s", err)) {
        bool audio = strcmp(model, "both") == 0;
        CHECK(r.n_vad == (2 * 16000 + 511) / 512 && r.fin.vad_frames == r.n_vad, "%u frames",
              r.n_vad);
        CHECK(r.n_start == 1 && r.n_end == 1, "%u %u", r.n_start, r.n_end);
        CHECK(fabs((double) r.start_pos - rate * 0.5) < rate * 0.04, "%llu", LLU(r.start_pos));
        CHECK(fabs((double) r.end_pos - rate * 1.1) < rate * 0.08, "%llu", LLU(r.end_pos));
        CHECK(r.bytes == (audio ? 4 * n : 0));
    }
    result_free(&r);
    free(x);
}

/* ---- a client that does not read ---- */

/* A few bytes now and then make no room in the socket: it is told so, not that nothing was read. */
static void test_reads_too_little(void)
{
    FRAME(f, m, Ping, PING, ping);
    static uint8_t payload[1000], b[2048];
    struct rig own;
    m.payload.data = payload;
    m.payload.len = sizeof payload;
    f.req = 1;
    rig_start(&own, "[limits]\noutput_stall_ms = 1000\n");
    int fd = raw_hello(own.sock);
    size_t n = frame_make(b, sizeof b, &f), sent = 0;
    while (sent < 200 && raw_send(fd, b, n)) /* less than the daemon lets wait */
        sent++;
    CHECK(sent == 200);
    for (uint64_t end = now_ms() + 30000; now_ms() < end; usleep(100000))
        if (rig_log_has(&own, "SLOW_CONSUMER", 0) || recv(fd, b, 64, MSG_DONTWAIT) <= 0)
            break;
    CHECK(rig_log_has(&own, "your socket had no room for any of them for 1000 ms", 15000));
    bool open = true; /* and it goes, whatever still waits for it */
    for (uint64_t end = now_ms() + 20000; open && now_ms() < end; usleep(20000))
        open = raw_send(fd, b, n);
    CHECK(!open);
    close(fd);
    CHECK(rig_stop(&own) == 0);
}

static void test_quota(void)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, S16, .align = false);
    struct rill_client *c = client_of(rig.sock, "greedy");
    for (uint32_t id = 1; id <= 16; id++)
        CHECK(rill_client_open(c, id, &o, NULL) == 0);
    CHECK(rill_client_open(c, 17, &o, NULL) < 0 && rill_client_error_code(c) == RILL__CODE__QUOTA);
    CHECK(rill_client_ping(c, NULL) == 0);
    rill_client_free(c);
    int fds[80], n = 0, code = 0;
    while (n < 80 && !code) {
        fds[n] = raw_connect(rig.sock);
        Rill__ServerFrame *a = raw_answer(fds[n++], 60);
        if (a && a->m_case == RILL__SERVER_FRAME__M_ERROR)
            code = (int) a->error->code;
        rill__server_frame__free_unpacked(a, NULL);
    }
    CHECK(code == RILL__CODE__QUOTA, "connection %d was refused with %d", n, code);
    CHECK_OF(c,
             rill_client_connect(&c, rig.sock, "one more", 10000) < 0 &&
                 rill_client_error_code(c) == RILL__CODE__QUOTA);
    rill_client_free(c);
    while (n)
        close(fds[--n]);
    bool room = false; /* when the daemon has seen that they are gone */
    for (uint64_t end = now_ms() + 20000; !room && now_ms() < end; usleep(10000)) {
        room = rill_client_connect(&c, rig.sock, "again", 10000) == 0;
        rill_client_free(c);
    }
    CHECK(room, "nobody is let in after those who left");
}

int main(void)
{
    rig_start(&rig,
              "[limits]\nmax_connections_per_uid = 20\nhello_timeout_ms = 10000\n[log]\ninterval_s "
              "= 1\n");
    for (enum rill_client_enc enc = RILL_CLIENT_S16; enc <= RILL_CLIENT_F32; enc++)
        for (uint32_t channels = 1; channels <= 8; channels += enc == RILL_CLIENT_S16 ? 1 : 7) {
            test_encoding(enc, channels, true);
            test_encoding(enc, channels, false);
        }
    test_channels_mix();
    test_rates();
    if (is_fake()) {
        test_alignment();
        test_stops();
    }
    test_streams_of_one_client();
    test_live();
    test_skip(true);
    test_skip(false);
    test_reset();
    if (is_fake()) {
        test_late();
        test_vad("vad", 16000);
        test_vad("vad", 48000);
        test_vad("both", 44100);
    }
    test_quota();
    test_reads_too_little();
    CHECK(rig_log_has(&rig, "stream=", 10000) && rig_log_has(&rig, " rtf=", 10000));
    CHECK(rig_log_has(&rig, "model=rill-denoise streams=", 10000) &&
          rig_log_has(&rig, " rtf_p99=", 10000));
    CHECK(rig_log_has(&rig, "connections_bytes=", 10000) &&
          rig_log_has(&rig, " resident_bytes=", 10000));
    CHECK(rig_stop(&rig) == 0);
    return check_end();
}
