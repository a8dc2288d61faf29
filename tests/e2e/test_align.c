/* SPDX-License-Identifier: MIT */
/* Random chains whose every sample is known, through the library: whatever the pulse and the cuts,
 * rill_port_align lays exactly the expected samples beside the input, and frames come as late as
 * latency_samples says, no later and no earlier.
 *   test_align [--seed=N] [--chains=N] [--only=K] */
#include "tests/check.h"
#include "tests/e2e/align_chain.h"

#include <rill.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_MAX 8192

static struct chain chain;
static long number; /* of the chain */

static rill_model *model_of(const struct chain *ch, bool apart)
{
    static const char *const set[] = { "S=4*N", NULL };
    const rill_model_opts opts = { .struct_bytes = sizeof opts,
                                   .set = ch->of_symbol ? set : NULL,
                                   .stream = ch->of_symbol ? "N" : NULL };
    char path[] = "/tmp/rill-align-XXXXXX.nnef";
    int fd = mkstemps(path, 5);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    rill_model *m = NULL;
    rill_error err = { 0 };
    if (!f)
        return NULL;
    chain_text(ch, apart, f);
    fclose(f);
    if (rill_model_open_with(&m, path, &opts, &err) != RILL_OK)
        printf("%s\n", err.text);
    unlink(path);
    return m;
}

/* ---- one stream ---- */

struct heard {
    float *y;
    int64_t *pushed;
    size_t n, cap;
}; /* pushed: samples when it came */

static void pull_all(rill_stream *s, struct heard *h, size_t pushed)
{
    for (size_t k = 1; k;) {
        size_t cap = 1 + chain_random(50);
        rill_stream_pull(s, 1, h->y + h->n, cap < h->cap - h->n ? cap : h->cap - h->n, &k);
        for (size_t i = 0; i < k; i++)
            h->pushed[h->n++] = (int64_t) pushed;
    }
}

static void run_all(rill_stream *s, struct heard *h, size_t pushed)
{
    while (rill_stream_run(s) == RILL_OK)
        pull_all(s, h, pushed);
    pull_all(s, h, pushed);
}

static struct heard stream_whole(const rill_plan *p, const float *x, size_t n, size_t cut)
{
    struct heard h = { .cap = 8 * n + 65536 };
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) / 64 * 64);
    rill_stream *s = rill_stream_init(mem, p);
    h.y = calloc(h.cap, sizeof *h.y);
    h.pushed = calloc(h.cap, sizeof *h.pushed);
    for (size_t at = 0, took; at < n;) {
        size_t most = cut ? cut : 1 + chain_random(97);
        rill_stream_push(s, 0, x + at, most < n - at ? most : n - at, &took);
        at += took;
        run_all(s, &h, at);
    }
    rill_stream_finish(s);
    run_all(s, &h, SIZE_MAX / 2);
    free(mem);
    return h;
}

static void heard_free(struct heard *h)
{
    free(h->y);
    free(h->pushed);
}

/* ---- what must be so ---- */

static float heard_at(const struct heard *h, int64_t i)
{
    return i >= 0 && i < (int64_t) h->n ? h->y[i] : 0;
}

static bool aligned_is(const rill_port *q, const struct heard *h, const struct wave *w, int64_t n)
{
    rill_alignment lie = { .struct_bytes = sizeof lie };
    rill_port_align(q, (uint64_t) n, &lie);
    if (!check((int64_t) lie.frames == wave_frames(w, n), "frames in all", (long) lie.frames))
        return false;
    int64_t shift = (int64_t) lie.cut_frames - (int64_t) lie.fill_frames;
    for (int64_t k = 0; k < (int64_t) lie.frames; k++)
        if (heard_at(h, k + shift) != wave_aligned(w, k))
            return check(false, "aligned frame", (long) k);
    return check(true, "", 0);
}

/* For who wants it late; of outputs of the input's rate. */
static bool late_is(const rill_port *q, const struct heard *h, const struct wave *w, int64_t n)
{
    rill_alignment lie = { .struct_bytes = sizeof lie };
    rill_port_align(q, (uint64_t) n + q->latency_samples, &lie);
    for (int64_t k = 0; k < (int64_t) lie.frames; k++)
        if (heard_at(h, k - (int64_t) lie.late_frames) !=
            wave_aligned(w, k - (int64_t) q->latency_samples))
            return check(false, "late frame", (long) k);
    return check((int64_t) lie.frames == n + (int64_t) q->latency_samples, "late frames",
                 (long) lie.frames);
}

static int64_t up_to_pulse(int64_t n, int64_t pulse)
{
    return n <= 0 ? 0 : (n + pulse - 1) / pulse * pulse;
}

/* Frame i stands for it. */
static int64_t sample_of(const struct wave *w, int64_t i)
{
    int64_t at = w->origin + i * w->hop;
    return at / UNIT - (at % UNIT < 0);
}

/* With every sample pushed alone. */
static bool comes_in_time(const rill_port *q, const struct heard *h, const struct wave *w,
                          int64_t n, int64_t pulse)
{
    for (int64_t i = 0; i < w->n && i < (int64_t) h->n; i++) {
        int64_t due = up_to_pulse(sample_of(w, i) + (int64_t) q->latency_samples + 1, pulse);
        if (due < n && h->pushed[i] > due && w->need[i] != AT_END)
            return check(false, "frame comes late", (long) i);
    }
    return check(true, "", 0);
}

/* Whether what a frame hangs on says how late it comes: where samples are taken one by one, and no
 * pad is made of samples, which holds back all that it is put in front of. */
static bool look_ahead_is_known(const struct chain *ch, int64_t pulse)
{
    for (int i = 0; i < ch->n; i++)
        if (ch->element[i].kind == ELEMENT_PAD && ch->element[i].mode)
            return false;
    return pulse == 1;
}

/* The longest that a frame has to wait after the sample that it stands for: for what it hangs on,
 * and for its turn, as there are no more frames than samples that were pushed. */
static int64_t latency_needed(const struct wave *w)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < w->n; i++) {
        int64_t turn = i * w->hop / UNIT, last = w->need[i] > turn ? w->need[i] : turn;
        if (w->need[i] < AT_END && last - sample_of(w, i) > longest)
            longest = last - sample_of(w, i);
    }
    return longest;
}

static void test_plan(const rill_model *m, const float *x, int64_t n, int64_t times)
{
    rill_error err = { 0 };
    rill_plan *p = NULL;
    rill_port ports[2] = { { .struct_bytes = sizeof *ports } };
    rill_plan_new(&p, m, NULL, &err);
    int64_t pulse = 0;
    for (int64_t k = 0; p && k < 1 + (times > 1); k++) {
        rill_plan_ports(p, ports, 2);
        pulse = ports[0].pulse_frames;
        if (k == 0 && times > 1) {
            rill_plan_unref(p);
            const rill_plan_opts opts = { .struct_bytes = sizeof opts,
                                          .pulse_frames = (uint32_t) (pulse * times) };
            if (rill_plan_new(&p, m, &opts, &err) != RILL_OK)
                p = NULL;
        }
    }
    if (!check(p != NULL, err.text, (long) times))
        return;
    struct wave w = chain_run(&chain, x, n);
    struct heard h = stream_whole(p, x, (size_t) n, times == 1);
    const rill_port *q = &ports[1];
    bool good =
        check((int64_t) h.n == w.n, "frames that come", (long) h.n) && aligned_is(q, &h, &w, n);
    if (good && w.hop == UNIT)
        good = late_is(q, &h, &w, n);
    if (good && times == 1)
        good = comes_in_time(q, &h, &w, n, pulse) &&
            check(!look_ahead_is_known(&chain, pulse) || q->latency_samples <= latency_needed(&w),
                  "latency is more than needed", (long) latency_needed(&w));
    if (!good) {
        printf("chain %ld, %ld samples, pulse %ld, latency %u, offset %d/%u, expected origin %g, "
               "%ld frames: ",
               number, (long) n, (long) pulse, q->latency_samples, q->offset_num, q->offset_den,
               (double) w.origin / UNIT, (long) w.n);
        chain_print(&chain, stdout);
    }
    heard_free(&h);
    wave_free(&w);
    rill_plan_unref(p);
}

/* Where frames lie does not hang on what is taken into what. */
static void test_apart(const rill_model *m)
{
    rill_model *apart = model_of(&chain, true);
    rill_plan *p[2] = { NULL };
    rill_port ports[2][2] = { { { .struct_bytes = sizeof **ports } },
                              { { .struct_bytes = sizeof **ports } } };
    rill_error err = { 0 };
    bool ok = apart && rill_plan_new(&p[0], m, NULL, &err) == RILL_OK &&
        rill_plan_new(&p[1], apart, NULL, &err) == RILL_OK;
    for (int i = 0; ok && i < 2; i++)
        rill_plan_ports(p[i], ports[i], 2);
    if (!check(ok, err.text, number) ||
        !check(ports[0][1].offset_num == ports[1][1].offset_num &&
                   ports[0][1].offset_den == ports[1][1].offset_den,
               "it lies elsewhere with an op between", ports[1][1].offset_num)) {
        printf("chain %ld, offset %d: ", number, ok ? ports[0][1].offset_num : 0);
        chain_print(&chain, stdout);
    }
    rill_plan_unref(p[0]);
    rill_plan_unref(p[1]);
    rill_model_free(apart);
}

static void test_chain(void)
{
    static float x[SAMPLES_MAX];
    rill_model *m = model_of(&chain, false);
    if (!check(m != NULL, "chain opens", number)) {
        chain_text(&chain, false, stdout);
        return;
    }
    for (int64_t i = 0; i < SAMPLES_MAX; i++)
        x[i] = (float) (int32_t) (chain_random(255) - 127) / 128;
    static const int64_t times[] = { 1, 2, 3, 16 };
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
        int64_t n = chain.least_samples + (int64_t) chain_random(300);
        n -= chain.of_symbol ? n % SYMBOL_SAMPLES : 0;
        if (n <= SAMPLES_MAX)
            test_plan(m, x, n, times[k]);
    }
    test_apart(m);
    rill_model_free(m);
}

int main(int argc, char **argv)
{
    long seed = 1, chains = 300, only = -1;
    for (int i = 1; i < argc; i++) {
        seed = strncmp(argv[i], "--seed=", 7) ? seed : atol(argv[i] + 7);
        chains = strncmp(argv[i], "--chains=", 9) ? chains : atol(argv[i] + 9);
        only = strncmp(argv[i], "--only=", 7) ? only : atol(argv[i] + 7);
    }
    printf("seed %ld\n", seed);
    for (number = 0; number < chains; number++) {
        chain_seed((uint32_t) (seed * 1000003 + number));
        chain_make(&chain, number % 4 == 3);
        if (only == number)
            chain_text(&chain, false, stdout);
        if (only < 0 || only == number)
            test_chain();
    }
    return check_done();
}
