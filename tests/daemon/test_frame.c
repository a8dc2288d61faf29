/* SPDX-License-Identifier: MIT */
/* Bytes that a client should not send, and ways to send good ones. After each the daemon still
 * serves the stream that was open all the time. */
#include "tests/daemon/harness.h"

#include <sys/socket.h>
#include <unistd.h>

static struct rig rig;

static size_t hello_bytes(uint8_t *to, size_t cap)
{
    FRAME(f, h, Hello, HELLO, hello);
    f.req = 5;
    memcpy(to, "RILL\1\0\0\0", 8);
    return 8 + frame_make(to + 8, cap - 8, &f);
}

static size_t ping_bytes(uint8_t *to, size_t cap, uint32_t req)
{
    FRAME(f, m, Ping, PING, ping);
    f.req = req;
    return frame_make(to, cap, &f);
}

static bool answer_is(int fd, Rill__ServerFrame__MCase want, uint32_t req)
{
    Rill__ServerFrame *a = raw_answer(fd, 15000);
    bool good = a && a->m_case == want && a->req == req;
    rill__server_frame__free_unpacked(a, NULL);
    return good;
}

static void test_one_byte_a_write(void)
{
    uint8_t b[256], preface[8];
    size_t n = hello_bytes(b, sizeof b);
    n += ping_bytes(b + n, sizeof b - n, 6);
    int fd = raw_connect(rig.sock);
    for (size_t i = 0; i < n; i++)
        raw_send(fd, b + i, 1);
    CHECK(raw_recv(fd, preface, 8, 15000) == 8);
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_HELLO, 5));
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_PONG, 6));
    close(fd);
}

static void test_many_frames_a_write(void)
{
    static uint8_t b[1 << 16];
    size_t n = 0;
    int fd = raw_hello(rig.sock);
    for (uint32_t i = 1; i <= 1000; i++)
        n += ping_bytes(b + n, sizeof b - n, i);
    CHECK(raw_send(fd, b, n));
    bool good = true;
    for (uint32_t i = 1; i <= 1000 && good; i++)
        good = answer_is(fd, RILL__SERVER_FRAME__M_PONG, i);
    CHECK(good);
    close(fd);
}

static int error_after(const void *bytes, size_t n, bool hello)
{
    uint8_t preface[8];
    int fd = hello ? raw_hello(rig.sock) : raw_connect(rig.sock);
    if (!hello) {
        raw_send(fd, "RILL\1\0\0\0", 8);
        raw_recv(fd, preface, 8, 15000);
    }
    raw_send(fd, bytes, n);
    int code = raw_error(fd, 15000);
    CHECK(raw_closed(fd, 15000), "(%d)", code);
    close(fd);
    return code;
}

static void test_preface(void)
{
    static const char *const bad[] = { "GET / HTTP/1.1\r\n\r\n", "RILL\2\0\0\0", "X",
                                       "RILQ\1\0\0\0",           "RILL\1\0\1\0", "RILL\1\0\0\1" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int fd = raw_connect(rig.sock);
        raw_send(fd, bad[i], i == 1 || i > 3 ? 8 : strlen(bad[i]));
        CHECK(raw_error(fd, 15000) == RILL__CODE__BAD_PREFACE, "%zu", i);
        CHECK(raw_closed(fd, 15000));
        close(fd);
    }
}

/* Who does not come to an end of saying hello, in a daemon that does not wait for long. */
static void test_never_hello(void)
{
    struct rig r;
    rig_start(&r, "[limits]\nhello_timeout_ms = 500\n");
    for (int i = 0; i < 2; i++) {
        int fd = raw_connect(r.sock);
        CHECK(raw_send(fd, "RILL\1\0\0\0", i ? 8 : 3));
        uint8_t preface[8];
        CHECK(!i || raw_recv(fd, preface, 8, 15000) == 8);
        CHECK(raw_error(fd, 15000) == RILL__CODE__DEADLINE);
        CHECK(raw_closed(fd, 15000));
        close(fd);
    }
    CHECK(rig_stop(&r) == 0);
}

static void test_lengths(void)
{
    static uint8_t big[8192];
    CHECK(error_after("\0\0\0\0", 4, true) == RILL__CODE__BAD_FRAME);
    CHECK(error_after("\0\0\0\0", 4, false) == RILL__CODE__BAD_FRAME);
    CHECK(error_after("\xff\xff\xff\xff", 4, true) == RILL__CODE__TOO_LARGE);
    CHECK(error_after("\1\0\1\0", 4, true) == RILL__CODE__TOO_LARGE);    /* 65537 */
    CHECK(error_after("\1\x10\0\0", 4, false) == RILL__CODE__TOO_LARGE); /* 4097 before Hello */
    memcpy(big, "\0\x10\0\0", 4); /* 4096 of rubbish is read */
    memset(big + 4, 0xff, 4096);
    CHECK(error_after(big, 4100, false) == RILL__CODE__BAD_FRAME);
    CHECK(error_after("\1\0\0\0\0", 5, true) == RILL__CODE__BAD_FRAME);
}

static bool zero_refused(int fd, const char *begins)
{
    Rill__ServerFrame *a = raw_answer(fd, 15000);
    bool ok = a && a->m_case == RILL__SERVER_FRAME__M_ERROR && !a->error->fatal &&
        a->error->code == RILL__CODE__BAD_ARG && !strncmp(a->error->text, begins, strlen(begins));
    rill__server_frame__free_unpacked(a, NULL);
    return ok;
}

/* A name that goes on behind a zero byte is no name, and the connection lives on; bytes that are no
 * text may hold what they like. */
static void test_zero_in_text(void)
{
    int fd = raw_hello(rig.sock);
    raw_send(fd,
             "\14\0\0\0\x1a\12\x08\1\x12\6"
             "ha\0/lf",
             16); /* OpenStream.model */
    CHECK(zero_refused(fd, "model: "));
    raw_send(fd,
             "\15\0\0\0\x1a\13\x08\1\x52\7\x0a\1"
             "b\x12\2"
             "4\0",
             17); /* .opt */
    CHECK(zero_refused(fd, "opt 'b': "));
    raw_send(fd, "\6\0\0\0\x42\4\x0a\2\0\0", 10); /* Ping.payload */
    Rill__ServerFrame *a = raw_answer(fd, 15000);
    CHECK(a && a->m_case == RILL__SERVER_FRAME__M_PONG && a->pong->payload.len == 2);
    rill__server_frame__free_unpacked(a, NULL);
    close(fd);
}

static void test_before_hello(void)
{
    uint8_t b[64];
    size_t n = ping_bytes(b, sizeof b, 1);
    CHECK(error_after(b, n, false) == RILL__CODE__BAD_FRAME);
}

static void test_unknown(void)
{
    /* req = 9 and field 99; then a control verb; each lets the connection live. */
    static const uint8_t field99[] = { 6, 0, 0, 0, 8, 9, 0x9a, 0x06, 1, 0 };
    static const uint8_t status[] = { 5, 0, 0, 0, 8, 9, 0x82, 0x02, 0 };
    uint8_t b[64];
    int fd = raw_hello(rig.sock);
    raw_send(fd, field99, sizeof field99);
    CHECK(raw_error(fd, 15000) == RILL__CODE__UNSUPPORTED);
    raw_send(fd, status, sizeof status);
    CHECK(raw_error(fd, 15000) == RILL__CODE__DENIED);
    raw_send(fd, "\2\0\0\0\x08\x09", 6); /* nothing but req */
    CHECK(raw_error(fd, 15000) == RILL__CODE__UNSUPPORTED);
    raw_send(fd, b, ping_bytes(b, sizeof b, 3));
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_PONG, 3));
    close(fd);
}

static void test_half_messages(void)
{
    uint8_t b[256];
    size_t n = hello_bytes(b, sizeof b);
    for (size_t cut = 0; cut < n; cut++) {
        int fd = raw_connect(rig.sock);
        raw_send(fd, b, cut);
        if (cut % 2)
            shutdown(fd, SHUT_WR);
        close(fd);
    }
    int fd = raw_hello(rig.sock);
    CHECK(raw_send(fd, "\x40\0\0\0\x08", 5));
    shutdown(fd, SHUT_WR);
    CHECK(raw_closed(fd, 15000));
    close(fd);
}

/* ---- one OpenStream or Audio with a mistake ---- */

static void open_frame(Rill__ClientFrame *f, Rill__OpenStream *o, Rill__Pcm *in)
{
    rill__client_frame__init(f);
    rill__open_stream__init(o);
    rill__pcm__init(in);
    in->rate = 16000;
    in->channels = 1;
    in->enc = RILL__ENC__ENC_S16LE;
    o->stream = 3;
    o->in = in;
    o->pace = RILL__PACE__PACE_FILE;
    f->req = 8;
    f->m_case = RILL__CLIENT_FRAME__M_OPEN;
    f->open = o;
}

static int open_error(void (*spoil)(Rill__OpenStream *o, Rill__Pcm *in))
{
    Rill__ClientFrame f;
    Rill__OpenStream o;
    Rill__Pcm in;
    open_frame(&f, &o, &in);
    spoil(&o, &in);
    int fd = raw_hello(rig.sock), code = 0;
    raw_frame(fd, &f);
    Rill__ServerFrame *a = raw_answer(fd, 15000);
    if (a && a->req == 8 && a->m_case == RILL__SERVER_FRAME__M_ERROR)
        code = (int) a->error->code;
    rill__server_frame__free_unpacked(a, NULL);
    uint8_t b[64];
    raw_send(fd, b, ping_bytes(b, sizeof b, 3));
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_PONG, 3));
    close(fd);
    return code;
}

#define SPOIL(name, code)                                                                          \
    static void name(Rill__OpenStream *o, Rill__Pcm *in)                                           \
    {                                                                                              \
        (void) o, (void) in;                                                                       \
        code;                                                                                      \
    }
SPOIL(no_format, o->in = NULL)
SPOIL(rate_low, in->rate = 7999)
SPOIL(rate_high, in->rate = 192001)
SPOIL(channels_0, in->channels = 0)
SPOIL(channels_9, in->channels = 9)
SPOIL(enc_none, in->enc = RILL__ENC__ENC_NONE)
SPOIL(enc_5, in->enc = (Rill__Enc) 5)
SPOIL(enc_negative, in->enc = (Rill__Enc) -1)
SPOIL(pace_2, o->pace = (Rill__Pace) 2)
SPOIL(stream_0, o->stream = 0)
SPOIL(model_unknown, o->model = (char *) (uintptr_t) "nosuch")
SPOIL(model_path, o->model = (char *) (uintptr_t) "../wiener")
SPOIL(model_slash, o->model = (char *) (uintptr_t) "/etc/passwd")
SPOIL(model_utf8, o->model = (char *) (uintptr_t) "\xff\xfe")
SPOIL(model_broken, o->model = (char *) (uintptr_t) "broken")
SPOIL(want_9, static Rill__Output w[1] = { (Rill__Output) 9 }; o->want = w; o->n_want = 1)
SPOIL(want_vad, static Rill__Output w[1] = { RILL__OUTPUT__OUTPUT_VAD }; o->want = w; o->n_want = 1)
SPOIL(option_unknown, static Rill__OpenStream__OptEntry e; static Rill__OpenStream__OptEntry * p[1];
      rill__open_stream__opt_entry__init(&e); e.key = (char *) (uintptr_t) "colour";
      e.value = (char *) (uintptr_t) "1"; p[0] = &e; o->opt = p; o->n_opt = 1)

static void test_open_mistakes(void)
{
    CHECK(open_error(no_format) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(rate_low) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(rate_high) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(channels_0) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(channels_9) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(enc_none) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(enc_5) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(enc_negative) == RILL__CODE__BAD_FORMAT);
    CHECK(open_error(pace_2) == RILL__CODE__BAD_ARG);
    CHECK(open_error(stream_0) == RILL__CODE__BAD_ARG);
    CHECK(open_error(model_unknown) == RILL__CODE__NO_MODEL);
    CHECK(open_error(model_path) == RILL__CODE__NO_MODEL);
    CHECK(open_error(model_slash) == RILL__CODE__NO_MODEL);
    CHECK(open_error(model_utf8) == RILL__CODE__NO_MODEL);
    CHECK(open_error(want_9) == RILL__CODE__BAD_ARG);
    CHECK(open_error(want_vad) == RILL__CODE__BAD_ARG);
    CHECK(open_error(option_unknown) == RILL__CODE__BAD_ARG);
    if (is_fake())
        CHECK(open_error(model_broken) == RILL__CODE__MODEL_FAILED);
}

static int opened_stream(Rill__Enc enc)
{
    Rill__ClientFrame f;
    Rill__OpenStream o;
    Rill__Pcm in;
    open_frame(&f, &o, &in);
    in.enc = enc;
    int fd = raw_hello(rig.sock);
    raw_frame(fd, &f);
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_OPENED, 8));
    return fd;
}

static int audio_error(Rill__Enc enc, const Rill__Audio *m)
{
    Rill__ClientFrame f = RILL__CLIENT_FRAME__INIT;
    int fd = opened_stream(enc);
    Rill__Audio copy = *m;
    f.m_case = RILL__CLIENT_FRAME__M_AUDIO;
    f.audio = &copy;
    raw_frame(fd, &f);
    int code = raw_error(fd, 15000);
    uint8_t b[64];
    raw_send(fd, b, ping_bytes(b, sizeof b, 3));
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_PONG, 3));
    close(fd);
    return code;
}

static void test_audio_mistakes(void)
{
    static uint8_t pcm[80000];
    Rill__Audio m = RILL__AUDIO__INIT;
    m.stream = 4;
    m.pcm.data = pcm;
    m.pcm.len = 320;
    CHECK(audio_error(RILL__ENC__ENC_S16LE, &m) == RILL__CODE__NO_STREAM);
    m.stream = 3;
    m.pcm.len = 321;
    CHECK(audio_error(RILL__ENC__ENC_S16LE, &m) == RILL__CODE__BAD_FORMAT);
    m.pcm.len = 320;
    CHECK(audio_error(RILL__ENC__ENC_S24LE3, &m) == RILL__CODE__BAD_FORMAT);
    m.pos = 1;
    CHECK(audio_error(RILL__ENC__ENC_S16LE, &m) == RILL__CODE__SEQ);
    m.pos = 0;
    m.seq = 1;
    CHECK(audio_error(RILL__ENC__ENC_S16LE, &m) == RILL__CODE__SEQ);
    m.seq = 0;
    m.pos = UINT64_MAX - 2;
    m.discont = 1;
    CHECK(audio_error(RILL__ENC__ENC_S16LE, &m) == RILL__CODE__BAD_ARG);
    m.discont = 0;
    m.pos = 0;
    memcpy(pcm, "RIFF\x24\0\0\0WAVEfmt ", 16);
    CHECK(audio_error(RILL__ENC__ENC_S16LE, &m) == RILL__CODE__BAD_FORMAT);
    memcpy(pcm, "fLaC", 4);
    CHECK(audio_error(RILL__ENC__ENC_F32LE, &m) == RILL__CODE__BAD_FORMAT);
    memcpy(pcm, "OggS", 4);
    CHECK(audio_error(RILL__ENC__ENC_S32LE, &m) == RILL__CODE__BAD_FORMAT);
}

static void test_credit_violation(void)
{
    static uint8_t pcm[64200]; /* the window is two seconds: 32000 samples */
    FRAME(f, m, Audio, AUDIO, audio);
    uint8_t b[64];
    int fd = opened_stream(RILL__ENC__ENC_S16LE);
    m.stream = 3;
    m.pcm.data = pcm;
    m.pcm.len = sizeof pcm;
    CHECK(raw_frame(fd, &f));
    CHECK(raw_error(fd, 15000) == RILL__CODE__FLOW_CONTROL);
    m.seq = 1;
    CHECK(raw_frame(fd, &f)); /* late: not an error again */
    raw_send(fd, b, ping_bytes(b, sizeof b, 3));
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_PONG, 3));
    close(fd);
}

static void test_duplicate_and_late(void)
{
    Rill__ClientFrame f;
    Rill__OpenStream o;
    Rill__Pcm in;
    uint8_t b[64];
    int fd = opened_stream(RILL__ENC__ENC_S16LE);
    open_frame(&f, &o, &in);
    raw_frame(fd, &f);
    CHECK(raw_error(fd, 15000) == RILL__CODE__BAD_ARG);
    Rill__Finish fin = RILL__FINISH__INIT;
    fin.stream = 3;
    rill__client_frame__init(&f);
    f.m_case = RILL__CLIENT_FRAME__M_FINISH;
    f.finish = &fin;
    raw_frame(fd, &f);
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_FINISHED, 0));
    raw_frame(fd, &f); /* late: neither error nor answer */
    Rill__Audio late = RILL__AUDIO__INIT;
    late.stream = 3;
    f.m_case = RILL__CLIENT_FRAME__M_AUDIO;
    f.audio = &late;
    raw_frame(fd, &f); /* nor is this */
    raw_send(fd, b, ping_bytes(b, sizeof b, 3));
    CHECK(answer_is(fd, RILL__SERVER_FRAME__M_PONG, 3));
    close(fd);
}

int main(void)
{
    struct rill_client_open o = OPEN(FILE, 16000, 1, F32, .align = true);
    static float x[16000];
    rig_start(&rig, "");
    struct rill_client *bystander = client_of(rig.sock, "bystander");
    CHECK_OF(bystander, rill_client_open(bystander, 1, &o, NULL) == 0);
    CHECK(rill_client_send(bystander, 1, x, sizeof x) == 0);
    test_one_byte_a_write();
    test_many_frames_a_write();
    test_preface();
    test_never_hello();
    test_lengths();
    test_zero_in_text();
    test_before_hello();
    test_unknown();
    test_half_messages();
    test_open_mistakes();
    test_audio_mistakes();
    test_credit_violation();
    test_duplicate_and_late();
    struct rill_client_finished fin = { 0 };
    CHECK_OF(bystander, rill_client_send(bystander, 1, x, sizeof x) == 0);
    CHECK_OF(bystander, rill_client_finish(bystander, 1, &fin) == 0);
    CHECK(fin.in == 32000 && fin.out == 32000 && fin.dropped == 0);
    rig_done(&rig, bystander);
    return check_end();
}
