/* SPDX-License-Identifier: MIT */
/* Ifs whose condition is set anew in the middle of a stream: each branch goes on where it stood,
 * and what has no states gives what it would if it always ran. */
#include "tests/pulse/if_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES 60

/* What the stream gives for those of the frames whose gate is `only` (0: all of them), one a run.
 */
static unsigned stream_frames(const rill_plan *p, float (*x)[CHANNELS], const float *gate,
                              float only, float (*ret)[CHANNELS])
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    unsigned n = 0;
    for (unsigned t = 0; t < FRAMES; t++) {
        size_t done;
        if (only != 0 && gate[t] != only)
            continue;
        rill_stream_push(s, 1, &gate[t], 1, &done);
        rill_stream_push(s, 0, x[t], 1, &done);
        if (rill_stream_run(s) == RILL_OK &&
            rill_stream_pull(s, p->n_inputs, ret[n], 1, &done) == RILL_OK && done == 1)
            n++;
    }
    free(mem);
    return n;
}

/* Each branch gives what it gives where its frames alone come. */
static void switched_check(const rill_plan *plan, const char *what)
{
    float x[FRAMES][CHANNELS], gate[FRAMES], all[FRAMES][CHANNELS], one[2][FRAMES][CHANNELS];
    uint32_t seed = 5;
    unsigned at[2] = { 0, 0 }, wrong = 0;
    for (unsigned t = 0; t < FRAMES; t++) {
        gate[t] = t / 7 % 2 || t % 11 == 3 ? -1.0f : 1.0f;
        for (unsigned c = 0; c < CHANNELS; c++)
            x[t][c] = gb_random_f32(&seed);
    }
    unsigned n = stream_frames(plan, x, gate, 0, all), n0 = stream_frames(plan, x, gate, 1, one[0]),
             n1 = stream_frames(plan, x, gate, -1, one[1]);
    for (unsigned t = 0; t < n; t++) {
        int k = gate[t] < 0;
        wrong += memcmp(all[t], one[k][at[k]++], sizeof all[t]) != 0;
    }
    oracle_check(n == FRAMES && n0 + n1 == n && !wrong,
                 "%s, switched: %u frames, %u and %u alone, %u differ", what, n, n0, n1, wrong);
}

/* Frames by number, of a branch that runs but for frames 2 * pause and the next. */
static void paused_frames(const rill_plan *p, unsigned pulse, unsigned pause,
                          float (*ret)[CHANNELS])
{
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *s = rill_stream_init(mem, p);
    float x[FRAMES][CHANNELS], y[3][CHANNELS];
    unsigned at = 0;
    uint32_t seed = 9;
    for (unsigned t = 0; t < FRAMES * CHANNELS; t++)
        x[t / CHANNELS][t % CHANNELS] = gb_random_f32(&seed);
    for (unsigned t = 0; t < FRAMES; t += pulse) {
        const float on = t / 2 == pause ? -1.0f : 1.0f;
        size_t done;
        rill_stream_push(s, 1, &on, 1, &done);
        rill_stream_push(s, 0, x[t], pulse, &done);
        if (rill_stream_run(s) != RILL_OK ||
            rill_stream_pull(s, p->n_inputs, y, pulse, &done) != RILL_OK)
            break;
        for (unsigned i = 0; i < done; i++)
            memcpy(ret[at++], y[i], sizeof y[i]);
    }
    free(mem);
}

/* Which keys came while the branch ran does not depend on how late its queries are; behind a pause
 * at the start from its end on, behind a later one once the window has gone on. */
static void test_paused(void)
{
    static const struct attended list[] = { { "ahead", 3, 1, 0, 0, false, 0, false, false },
                                            { "first keys ahead", 1, 1, 2, 0, false, 0, false,
                                              false },
                                            { "first keys", 1, 0, 2, 0, false, 0, false, false } };
    static const unsigned same_from[] = { 2, 12 };
    for (unsigned i = 0; i < 2 * sizeof list / sizeof *list; i++) {
        const unsigned pause = i % 2, from = same_from[pause];
        float y[2][FRAMES][CHANNELS] = { 0 };
        struct oracle o;
        enum verdict v = oracle_open(&o, attended_recipe, &list[i / 2], NULL);
        for (unsigned pulse = 1; v == LAW_HOLDS && pulse <= 2; pulse++)
            if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
                paused_frames(o.plan, pulse, pause, y[pulse - 1]);
        oracle_check(v == LAW_HOLDS &&
                         !memcmp(y[0][from], y[1][from], (FRAMES - 4 - from) * sizeof *y[0]),
                     "%s, pause %u: pulses of 1 and 2 differ, or %s", list[i / 2].name, pause,
                     o.err.text);
        oracle_close(&o);
    }
}

static void recipe_switched(gb_recipe *recipe, const void *ctx, const char *what)
{
    struct oracle o;
    enum verdict v = oracle_open(&o, recipe, ctx, NULL);
    v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
    oracle_check(v == LAW_HOLDS, "%s: %s", what, o.err.text);
    if (v == LAW_HOLDS)
        switched_check(o.plan, what);
    oracle_close(&o);
}

static void test_switched(const char *then, const char *otherwise)
{
    struct branches two;
    char what[200];
    snprintf(what, sizeof what, "'%s' and '%s'", then, otherwise);
    bool ok = chain_parse(&two.chain[0], then) && chain_parse(&two.chain[1], otherwise);
    oracle_check(ok, "%s are no chains", what);
    if (ok)
        recipe_switched(branches_recipe, &two, what);
}

/* ---- frames of one place ---- */

/* A branch of an input that is 2 frames late: with one that is not, with what counts frames, beside
 * one that takes the input as it is, or less its own first frame. */
enum placed { SKIPS, COUNTS, BYPASSES, FIRST, APART };

static uint32_t placed_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const enum placed how = *(const enum placed *) ctx;
    const uint32_t late = in[1];
    if (branch)
        return how == FIRST ? late : GB(b, "Neg", "", in[0]);
    switch (how) {
    case SKIPS: return GB(b, "Sub", "", late, in[0]);
    case COUNTS: {
        const uint32_t n = GB(b, "Gather", "axis=0", GB(b, "Shape", "", late), gb_int(b, 2)),
                       at = GB(b, "Range", "", gb_int(b, 0), n, gb_int(b, 1));
        return GB(b, "Add", "", late, GB(b, "Cast", "to=1", at));
    }
    case BYPASSES: return late;
    default: return GB(b, "Sub", "", late, gb_slice(b, late, 2, 0, 1, 1));
    }
}

/* Beside an output that is 2 frames late in one branch, one that is late in none. */
static void apart_put(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    (void) ctx;
    gb_output(b, branch ? GB(b, "Neg", "", in[0]) : convolved(b, in[0], "pads=0,2"));
    gb_output(b, GB(b, "Neg", "", in[0]));
}

static void placed_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b);
    if (*(const enum placed *) ctx == APART) {
        uint32_t out[2];
        chosen_put(b, gate_on(b), apart_put, NULL, &x, 1, out, 2);
        gb_output(b, GB(b, "Add", "", out[0], out[1]));
        return;
    }
    const uint32_t in[2] = { x, convolved(b, x, "pads=0,2") };
    gb_output(b, chosen(b, placed_branch, ctx, in, 2));
}

static void gates_fill(float *gate, unsigned off, bool switches)
{
    for (unsigned t = 0; t < FRAMES; t++)
        gate[t] = t < off || (switches && (t / 5 % 2 || t % 11 == 3)) ? -1.0f : 1.0f;
}

/* What the branches have no states for, they give in each run as if they had always run; and first
 * frames are those that come first. */
static void placed_check(const rill_plan *p, const char *what, enum placed how)
{
    enum { OFF = 7, LATE = 2 };
    float x[FRAMES][CHANNELS], gate[FRAMES], y[3][FRAMES][CHANNELS];
    unsigned n[3], wrong = 0;
    uint32_t seed = 5;
    for (unsigned t = 0; t < FRAMES * CHANNELS; t++)
        x[t / CHANNELS][t % CHANNELS] = gb_random_f32(&seed);
    for (unsigned k = 0; k < 3; k++) {
        gates_fill(gate, k == 1 ? FRAMES : k == 2 ? OFF : 0, k == 2 && how != FIRST);
        n[k] = stream_frames(p, x, gate, 0, y[k]);
    }
    for (unsigned t = 0; t < n[2]; t++)
        for (unsigned c = 0; c < CHANNELS; c++) {
            const bool on = gate[t + LATE] > 0;
            const float own = how == FIRST ? y[1][t][c] - y[1][OFF - LATE][c] : y[0][t][c];
            if (!on || how != APART) /* whose frames ahead are of its own runs */
                wrong += y[2][t][c] != (on ? own : y[1][t][c]);
        }
    oracle_check(n[0] == FRAMES - LATE && n[1] == n[0] && n[2] == n[0] && !wrong,
                 "%s: %u, %u and %u frames, %u numbers differ", what, n[0], n[1], n[2], wrong);
}

static void test_placed(void)
{
    static const char *const names[] = { "an input that is not late", "frames that are counted",
                                         "a bypass", "a first frame",
                                         "outputs late by different numbers" };
    for (enum placed how = SKIPS; how <= APART; how++) {
        struct oracle o;
        enum verdict v = oracle_open(&o, placed_recipe, &how, NULL);
        v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
        oracle_check(v == LAW_HOLDS, "%s: %s", names[how], o.err.text);
        if (v == LAW_HOLDS)
            placed_check(o.plan, names[how], how);
        oracle_close(&o);
    }
}

static void summed_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = time_input(b);
    gb_output(b, GB(b, "CumSum", "", chosen(b, attended_branch, ctx, &x, 1), gb_int(b, 2)));
}

/* A branch that begins late has queries of which all keys came before: what they give are numbers,
 * or a sum behind it would never be one again. */
static void test_late_begin(void)
{
    static const struct attended ahead = { "ahead", 1, 1, 0, 0, false, -INFINITY, false, false };
    struct oracle o;
    enum verdict v = oracle_open(&o, summed_recipe, &ahead, NULL);
    for (unsigned pulse = 1; v == LAW_HOLDS && pulse <= 3; pulse++) {
        float y[FRAMES][CHANNELS] = { 0 };
        bool numbers = true;
        if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
            paused_frames(o.plan, pulse, 0, y);
        for (unsigned t = 0; t < FRAMES; t++)
            numbers &= isfinite(y[t][0]) && isfinite(y[t][1]);
        oracle_check(numbers, "a branch that begins late, pulse %u: no numbers", pulse);
    }
    oracle_check(v == LAW_HOLDS, "a branch that begins late: %s", o.err.text);
    oracle_close(&o);
}

/* Attention, delayed by a pad of two first frames or by the other branch, which looks ahead. */
struct delayed {
    struct attended t;
    bool padded;
};

static uint32_t delayed_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    const struct delayed *d = ctx;
    if (branch)
        return d->padded ? GB(b, "Neg", "", in[0]) : convolved(b, in[0], "pads=1,1");
    const uint32_t y = attention(b, &d->t, in[0]);
    if (!d->padded)
        return y;
    return gb_slice(b, GB(b, "Pad", "mode=edge", y, gb_ints(b, 0, 0, 2, 0, 0, 0)), 2, 0, -2, 1);
}

static void delayed_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = convolved(b, convolved(b, time_input(b), "pads=0,2"), "pads=1,1");
    gb_output(b, chosen(b, delayed_branch, ctx, &x, 1));
}

/* What attention gives to queries in front of the sequence comes out behind a pause: numbers. */
static void test_delayed(void)
{
    static const struct delayed list[] = {
        { { "by the other branch", 3, 0, 0, 0, false, -INFINITY, false, false }, false },
        { { "by a pad", 3, 0, 0, 0, false, -INFINITY, false, false }, true },
        { { "by a pad, first keys", 3, 1, 1, 0, false, -INFINITY, false, false }, true },
        { { "by the other branch, first keys", 4, 1, 1, 0, false, -INFINITY, false, false },
          false },
        { { "by a pad, first keys that are chosen", 3, 1, 3, 0, false, -INFINITY, true, false },
          true },
        { { "by the other branch, keys that are chosen", 3, 1, 3, 0, false, -INFINITY, true,
            false },
          false },
    };
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++) {
        struct oracle o;
        enum verdict v = oracle_open(&o, delayed_recipe, &list[i], NULL);
        for (unsigned k = 0; v == LAW_HOLDS && k < 3 * 4; k++) {
            const unsigned pulse = 1 + k % 3, pause = k / 3;
            float y[FRAMES][CHANNELS] = { 0 };
            bool numbers = true;
            if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
                paused_frames(o.plan, pulse, pause, y);
            for (unsigned t = 0; t < FRAMES; t++)
                numbers &= isfinite(y[t][0]) && isfinite(y[t][1]);
            oracle_check(numbers, "delayed %s, pulse %u, pause %u: no numbers", list[i].t.name,
                         pulse, pause);
        }
        oracle_check(v == LAW_HOLDS, "delayed %s: %s", list[i].t.name, o.err.text);
        oracle_close(&o);
    }
}

static uint32_t sloped_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch)
{
    return branch ? convolved(b, convolved(b, in[0], "pads=0,2"), "pads=1,1")
                  : attention(b, ctx, in[0]);
}

static void sloped_recipe(struct gb *b, const void *ctx)
{
    const uint32_t x = convolved(b, time_input(b), "pads=0,2");
    gb_output(b, chosen(b, sloped_branch, ctx, &x, 1));
}

/* Scores of positions wait for those of queries, which wait outside: the branch is as late as the
 * other one at any pulse, so that nothing waits in it, and what it gives does not depend on that.
 */
static void test_sloped(void)
{
    static const struct attended sloped = { "", 5, 0, 0, 0, false, -INFINITY, false, true };
    for (unsigned pause = 0; pause < 6; pause++) {
        float y[2][FRAMES][CHANNELS] = { 0 };
        struct oracle o;
        enum verdict v = oracle_open(&o, sloped_recipe, &sloped, NULL);
        for (unsigned pulse = 1; v == LAW_HOLDS && pulse <= 2; pulse++)
            if ((v = oracle_pulse(&o, pulse)) == LAW_HOLDS)
                paused_frames(o.plan, pulse, pause, y[pulse - 1]);
        unsigned wrong = 0;
        for (unsigned t = 0; t < FRAMES - 6; t++)
            wrong += memcmp(y[0][t], y[1][t], sizeof y[0][t]) != 0;
        oracle_check(v == LAW_HOLDS && !wrong,
                     "scores of distances, pause %u: %u frames of pulses 1 and 2 differ, or %s",
                     pause, wrong, o.err.text);
        oracle_close(&o);
    }
}

/* ---- how far first keys are ---- */

/* Frames of an input, and those of them, by number, that attention sees as its own. */
struct seen {
    float x[FRAMES][CHANNELS];
    unsigned own[FRAMES], n;
    const struct attended *t;
};

static double score(const struct seen *s, unsigned query, unsigned key, int64_t distance)
{
    double sum = -0.125 * (double) distance;
    for (unsigned c = 0; c < CHANNELS; c++)
        sum += (double) s->x[s->own[query]][c] * (double) s->x[s->own[key]][c];
    return sum;
}

/* What comes when own frame u does: a first key is as far from the query as its place in the
 * sequence is from the place that the query answers, another one as many own frames. */
static void seen_give(const struct seen *s, unsigned u, double ret[CHANNELS])
{
    const int64_t right = s->t->right, left = s->t->left, query = (int64_t) u - right,
                  place = (int64_t) s->own[u] - right;
    double total = 0;
    memset(ret, 0, CHANNELS * sizeof *ret);
    for (int64_t v = 0; v <= (int64_t) u; v++) {
        const bool first = s->own[v] < (unsigned) s->t->first;
        const int64_t far = first ? place - (int64_t) s->own[v] : query - v;
        if (far < -right || (far > left && !first))
            continue;
        const double weight = exp(score(s, (unsigned) query, (unsigned) v, far));
        total += weight;
        for (unsigned c = 0; c < CHANNELS; c++)
            ret[c] += weight * (double) s->x[s->own[v]][c];
    }
    for (unsigned c = 0; c < CHANNELS; c++)
        ret[c] /= total;
}

/* Of a branch that pauses in two runs. */
static unsigned far_wrong(const rill_plan *p, const struct attended *t, const unsigned pause[2])
{
    struct seen s = { .t = t };
    void *mem = aligned_alloc(64, (rill_plan_stream_size(p) + 63) & ~(size_t) 63);
    rill_stream *stream = rill_stream_init(mem, p);
    unsigned wrong = 0;
    uint32_t seed = 9;
    for (unsigned r = 0; r < FRAMES; r++) {
        const float on = r == pause[0] || r == pause[1] ? -1.0f : 1.0f;
        float y[CHANNELS];
        double want[CHANNELS];
        size_t done;
        for (unsigned c = 0; c < CHANNELS; c++)
            s.x[r][c] = gb_random_f32(&seed);
        rill_stream_push(stream, 1, &on, 1, &done);
        rill_stream_push(stream, 0, s.x[r], 1, &done);
        if (rill_stream_run(stream) != RILL_OK ||
            rill_stream_pull(stream, p->n_inputs, y, 1, &done) != RILL_OK ||
            done != (r >= (unsigned) t->right))
            wrong++;
        if (on < 0)
            continue;
        s.own[s.n++] = r;
        if (s.n <= (unsigned) t->right || done == 0)
            continue;
        seen_give(&s, s.n - 1, want);
        for (unsigned c = 0; c < CHANNELS; c++)
            wrong += !(fabs((double) y[c] - want[c]) < 1e-5);
    }
    free(mem);
    return wrong;
}

static void test_far(void)
{
    for (int64_t first = 1; first <= 4; first++) {
        const struct attended t = { "", 5, 3, first, 0, false, -INFINITY, false, true };
        struct oracle o;
        enum verdict v = oracle_open(&o, attended_recipe, &t, NULL);
        v = v == LAW_HOLDS ? oracle_pulse(&o, 1) : v;
        oracle_check(v == LAW_HOLDS, "%d first keys: %s", (int) first, o.err.text);
        for (unsigned a = 0; v == LAW_HOLDS && a < 12; a++)
            for (unsigned b = 0; b < 12; b += 3) {
                const unsigned pause[] = { a, a + b }, wrong = far_wrong(o.plan, &t, pause);
                oracle_check(!wrong, "%d first keys, pauses %u and %u: %u numbers differ",
                             (int) first, pause[0], pause[1], wrong);
            }
        oracle_close(&o);
    }
}

int main(void)
{
    test_switched("2: conv k=3 l=2; cumsum", "2: gru");
    test_switched("2: lstm; conv k=4 l=3", "2: conv k=2 l=1");
    test_switched("2: scan", "2: cumsum; conv k=3 d=2 l=4");
    test_switched("2: gru", "2: attend left=3");
    test_switched("2: attend left=2", "2: attend left=1 right=0 where=1");
    test_switched("2: distances", "2: cumsum; attend left=3");
    test_switched("2: conv k=3 l=2", "2: masked; conv k=2 l=1");
    for (size_t i = 0; i < FIRST_TAKEN; i++)
        if (first_taken[i].where == OF_INPUT || first_taken[i].where == BEGINS)
            recipe_switched(first_recipe, &first_taken[i], first_taken[i].name);
    test_paused();
    test_placed();
    test_late_begin();
    test_delayed();
    test_sloped();
    test_far();
    return oracle_end();
}
