/* SPDX-License-Identifier: MIT */
/* Ops that read the clock, whose numbers a compiled file may name as it likes: they refuse, or run
 * and stay within their memory. Their source is built into this program with a trap on every signed
 * overflow. */
#include "engine/ops/clock.h"
#include "tests/ops/ops_test.h"

#include <string.h>

#define TRIALS 60000
#define WINDOW 5
#define OUTER 2
#define INNER 3
#define OUT_MAX 16

static uint64_t state = 12;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (state >> 33) % n;
}

static int64_t draw_number(void)
{
    static const int64_t odd[] = { INT64_MAX,
                                   INT64_MIN,
                                   INT64_MAX - 1,
                                   INT64_MIN + 1,
                                   (int64_t) 1 << 40,
                                   -((int64_t) 1 << 40),
                                   (int64_t) 1 << 62,
                                   -((int64_t) 1 << 62),
                                   ((int64_t) 1 << 40) - 3,
                                   INT32_MAX };
    return draw(3) ? (int64_t) draw(12) - 3 : odd[draw(sizeof odd / sizeof *odd)];
}

static void clock_attr_draw(struct clock_attr *a)
{
    *a = (struct clock_attr) { .pulse = draw_number(),
                               .delay = draw_number(),
                               .length = draw(8) ? 1 : draw_number(),
                               .frames = draw(2) ? 0 : draw_number() };
}

static void pad_attr_draw(struct pulse_pad_attr *a)
{
    *a = (struct pulse_pad_attr) { .axis = draw(8) ? 1 : draw_number(),
                                   .before = draw_number(),
                                   .after = draw_number(),
                                   .shift = draw_number(),
                                   .mode = (int) draw(PULSE_PAD_VALUES) };
    clock_attr_draw(&a->at);
}

static const struct tensor *clock_draw(struct ops_test *t)
{
    int64_t v[CLOCK_SIZE];
    for (int i = 0; i < CLOCK_SIZE; i++)
        v[i] = draw_number();
    v[0] = v[0] < 0 ? ~v[0] : v[0];
    v[1] = draw(3) ? v[1] : CLOCK_OPEN;
    return ops_i64s(t, CLOCK_SIZE, v);
}

/* Runs the op where it accepts; counts in *ran. False: it misbehaved. */
static bool op_try(struct ops_test *t, const struct op *op, const void *attr,
                   const struct tensor *const *in, unsigned n_in, unsigned *ran)
{
    struct node node = { .name = "n", .op = op, .attr = attr, .n_in = n_in, .n_out = 1 };
    struct fact facts[4], out = { 0 };
    const struct fact *of[4];
    const void *x[4];
    struct tensor desc;
    for (unsigned i = 0; i < n_in; i++) {
        fact_of_tensor(&facts[i], t->dims, in[i]);
        facts[i].value = NULL;
        of[i] = &facts[i];
        x[i] = in[i]->data;
    }
    t->err = (rill_error) { 0 };
    if (op_infer(&node, of, &out, t->dims, &t->arena, &t->err) != RILL_OK)
        return t->err.text[0] != '\0';
    if (!fact_to_tensor(&out, &desc) || tensor_count(&desc) > OUT_MAX * OUTER * INNER)
        return true;
    const struct tensor *outs[] = { &desc };
    void *y[] = { ops_guarded(t, tensor_bytes(&desc)) };
    struct eval e = { .node = &node,
                      .attr = attr,
                      .kern = &t->kern,
                      .n_in = n_in,
                      .n_out = 1,
                      .in = in,
                      .out = outs,
                      .x = x,
                      .y = y };
    op->eval(&e);
    ++*ran;
    return ops_guard_intact(y[0], tensor_bytes(&desc));
}

static void hostile_check(struct ops_test *t)
{
    static const struct op *const ops[] = { &op_pulse_pad, &op_pulse_valid, &op_pulse_skip,
                                            &op_pulse_range, &op_pulse_first };
    unsigned ran[5] = { 0 };
    bool ok[5] = { true, true, true, true, true };
    for (unsigned i = 0; i < TRIALS; i++) {
        unsigned k = i % 5;
        struct pulse_pad_attr pad;
        struct clock_attr clock;
        pad_attr_draw(&pad);
        clock_attr_draw(&clock);
        const int64_t numbers[2] = { draw_number(), draw_number() };
        const struct tensor *time = clock_draw(t),
                            *window = ops_f32(t, 3, (int64_t[]) { OUTER, WINDOW, INNER }, NULL);
        const struct tensor *start = ops_i64s(t, 1, numbers), *step = ops_i64s(t, 1, numbers + 1);
        struct pulse_first_attr first = { pad.at, 1, draw_number() };
        first.at.pulse = i % 3 ? WINDOW : first.at.pulse;
        const struct tensor *kept = ops_f32(t, 3, (int64_t[]) { OUTER, 2, INNER }, NULL);
        const struct tensor *of_pad[] = { window, time }, *of_range[] = { time, start, step },
                            *of_first[] = { kept, window, time };
        const void *attrs[] = { &pad, &clock, &clock, &clock, &first };
        const struct tensor *const *in[] = { of_pad, of_range, of_range, of_range, of_first };
        const unsigned n_in[] = { 2, 1, 1, 3, 3 };
        ok[k] = op_try(t, ops[k], attrs[k], in[k], n_in[k], &ran[k]) && ok[k];
        arena_drop(&t->arena);
    }
    for (unsigned k = 0; k < 5; k++) {
        t->what = ops[k]->name;
        ops_check(t, ok[k], "refuses without a word or writes beyond its output");
        ops_check(t, ran[k] > TRIALS / 100, "only %u runs", ran[k]);
    }
}

/* Frames r*5 + p - 7 of 21, for all runs that hold any. */
static void valid_check(struct ops_test *t)
{
    const struct clock_attr a = { .pulse = 5, .delay = 7, .length = 1 };
    bool good = true;
    t->what = "PulseValid and PulseSkip";
    for (int64_t r = 0; r < 8; r++) {
        int64_t clock[CLOCK_SIZE] = { r, 21 }, skip;
        unsigned char valid[5];
        const void *x[] = { clock };
        void *y[] = { valid }, *z[] = { &skip };
        struct eval e = { .attr = &a, .n_in = 1, .n_out = 1, .x = x, .y = y };
        op_pulse_valid.eval(&e);
        e.y = z;
        op_pulse_skip.eval(&e);
        int64_t before = 7 - 5 * r;
        for (int64_t p = 0; p < 5; p++)
            good = good && valid[p] == (p >= before && p < before + 21);
        good = good && skip == (before < 0 ? 0 : before < 5 ? before : 5);
    }
    ops_check(t, good, "tells other frames");
}

/* y[o] = the last frames of window[o], then x[o], of frames of `inner` numbers. */
static bool window_is(const float *y, const float *window, const float *x, int64_t old,
                      int64_t fresh, int64_t inner)
{
    bool good = true;
    for (int64_t o = 0; o < OUTER; o++)
        for (int64_t i = 0; i < old * inner; i++) {
            const int64_t at = i - (old - fresh) * inner;
            good = good &&
                !memcmp(&y[o * old * inner + i],
                        at < 0 ? &window[o * old * inner + i + fresh * inner]
                               : &x[o * fresh * inner + at],
                        sizeof *y);
        }
    return good;
}

static void window_check(struct ops_test *t, int64_t old, int64_t fresh, int64_t inner)
{
    const struct pulse_history_attr a = { .axis = 1 };
    const struct node node = { .name = "n", .op = &op_pulse_window, .attr = &a };
    const struct tensor *in[] = { ops_f32(t, 3, (int64_t[]) { OUTER, old, inner }, NULL),
                                  ops_f32(t, 3, (int64_t[]) { OUTER, fresh, inner }, NULL) };
    const size_t bytes = tensor_bytes(in[0]);
    void *y[] = { ops_guarded(t, bytes), ops_guarded(t, bytes) };
    const void *x[] = { in[0]->data, in[1]->data };
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < tensor_count(in[k]); i++)
            ((float *) in[k]->data)[i] = (float) draw(1000);
    struct eval e = { .node = &node,
                      .attr = &a,
                      .kern = &t->kern,
                      .n_in = 2,
                      .n_out = 1,
                      .in = in,
                      .out = in,
                      .x = x,
                      .y = y };
    op_pulse_window.eval(&e);
    t->what = "PulseWindow";
    ops_check(t, ops_guard_intact(y[0], bytes) && window_is(y[0], x[0], x[1], old, fresh, inner),
              "%lld of %lld frames of %lld numbers are other ones", (long long) fresh,
              (long long) old, (long long) inner);
    memcpy(y[1], x[0], bytes);
    const void *over[] = { y[1], x[1] };
    e.x = over;
    e.y = &y[1];
    op_pulse_window.eval(&e);
    ops_check(t, ops_guard_intact(y[1], bytes) && !memcmp(y[0], y[1], bytes),
              "%lld of %lld frames of %lld numbers are other ones over the old window",
              (long long) fresh, (long long) old, (long long) inner);
    arena_drop(&t->arena);
}

/* Frames that stay at their places, of a sequence of 11 behind 3 and before 4 that are filled: over
 * what they come from as beside it. */
static void pad_check(struct ops_test *t, int mode)
{
    enum { RUNS = 8 };
    const struct pulse_pad_attr a = { .at = { .pulse = WINDOW, .delay = 2, .length = 1 },
                                      .axis = 1,
                                      .before = 3,
                                      .after = 4,
                                      .shift = 5,
                                      .mode = mode };
    const struct node node = { .name = "n", .op = &op_pulse_pad, .attr = &a };
    const int64_t head[] = { OUTER, 3, INNER }, tail[] = { OUTER, 4, INNER };
    const bool values = mode == PULSE_PAD_VALUES;
    const struct tensor *in[] = { ops_f32(t, 3, (int64_t[]) { OUTER, WINDOW, INNER }, NULL),
                                  clock_draw(t), ops_f32(t, values ? 3 : 0, head, NULL),
                                  ops_f32(t, 3, tail, NULL) };
    const size_t bytes = tensor_bytes(in[0]);
    void *apart[] = { ops_guarded(t, bytes) }, *over[] = { ops_guarded(t, bytes) };
    t->what = "PulsePad";
    for (unsigned k = 0; k < 4; k++)
        for (int64_t i = 0; k != 1 && i < tensor_count(in[k]); i++)
            ((float *) in[k]->data)[i] = (float) draw(1000);
    for (int64_t r = 0; r < RUNS; r++) {
        const int64_t clock[CLOCK_SIZE] = { r, 11 };
        const void *x[] = { in[0]->data, clock, in[2]->data, in[3]->data };
        struct eval e = { .node = &node,
                          .attr = &a,
                          .kern = &t->kern,
                          .n_in = values ? 4 : 3,
                          .n_out = 1,
                          .in = in,
                          .out = in,
                          .x = x,
                          .y = apart };
        op_pulse_pad.eval(&e);
        memcpy(over[0], x[0], bytes);
        x[0] = over[0];
        e.y = over;
        op_pulse_pad.eval(&e);
        ops_check(t, op_pulse_pad.base(&node, 0) == 0 && !memcmp(apart[0], over[0], bytes),
                  "run %lld: other frames over what they come from", (long long) r);
    }
    arena_drop(&t->arena);
}

int main(void)
{
    struct ops_test t = ops_begin();
    hostile_check(&t);
    valid_check(&t);
    for (int64_t old = 1; old < 9; old++)
        for (int64_t fresh = 1; fresh <= old; fresh++)
            for (int64_t inner = 1; inner < 40; inner += 6)
                window_check(&t, old, fresh, inner);
    pad_check(&t, PULSE_PAD_CONSTANT);
    pad_check(&t, PULSE_PAD_VALUES);
    return ops_end(&t);
}
