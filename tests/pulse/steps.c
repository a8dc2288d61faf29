/* SPDX-License-Identifier: MIT */
#include "tests/pulse/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const auto_pads[] = { "", " auto_pad=SAME_UPPER", " auto_pad=SAME_LOWER", " auto_pad=VALID" };

/* "kernel_shape=.. strides=.. dilations=.. pads=.. auto_pad=.." of v = { k, s, d, l, r, auto }. */
static const char *window_text(struct gb *b, const int *v)
{
    return gb_printf(b, "kernel_shape=%d strides=%d dilations=%d%s%s", v[0], v[1], v[2], auto_pads[v[5]],
                     v[5] ? "" : gb_printf(b, " pads=%d,%d", v[3], v[4]));
}

#define WINDOW_PARAMS(pad) { "k", 1, 4, 1 }, { "s", 1, 3, 1 }, { "d", 1, 3, 1 }, { "l", 0, pad, 0 }, { "r", 0, pad, 0 }

/* ---- windows ---- */

static void emit_conv(struct gb *b, struct stage *s, const int *v)
{
    int group = v[6] ? s->channels : 1;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels / group, v[0]);
    s->wire = GB(b, "Conv", gb_printf(b, "%s group=%d", window_text(b, v), group), s->wire, w, gb_weights(b, 1, s->channels));
}

static void emit_deconv(struct gb *b, struct stage *s, const int *v)
{
    int group = v[6] ? s->channels : 1;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels / group, v[0]), bias = gb_weights(b, 1, s->channels);
    s->wire = GB(b, "ConvTranspose", gb_printf(b, "%s group=%d output_padding=%d", window_text(b, v), group, v[7]), s->wire,
                 w, bias);
}

static void emit_max(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "MaxPool", gb_printf(b, "%s ceil_mode=%d", window_text(b, v), v[6]), s->wire);
}

static void emit_average(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "AveragePool", gb_printf(b, "%s count_include_pad=%d ceil_mode=%d", window_text(b, v), !v[6], v[7]),
                 s->wire);
}

static void emit_lp(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, "LpPool", gb_printf(b, "%s p=%d", window_text(b, v), v[6]), s->wire);
}

static void emit_conv2d(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = GB(b, "Unsqueeze", "", s->wire, gb_ints(b, 1)), w = gb_weights(b, 4, 2, 1, 3, v[0]);
    x = GB(b, "Conv", gb_printf(b, "strides=1,%d dilations=1,%d pads=1,%d,1,%d", v[1], v[2], v[3], v[4]), x, w);
    s->wire = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 1));
}

static void emit_slice(struct gb *b, struct stage *s, const int *v)
{
    s->wire = gb_slice(b, s->wire, 2, v[0], v[1] < 0 ? v[1] : INT32_MAX, v[2]);
}

static void emit_frame(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ends[] = { "drop", "cover", "flush" };
    uint32_t f = GB(b, "Frame", gb_printf(b, "size=%d hop=%d before=%d end=%s", v[0], v[1], v[2], ends[v[3]]), s->wire);
    f = GB(b, "Mul", "", f, gb_weights(b, 1, v[0]));
    s->wire = GB(b, "ReduceSum", "keepdims=0", f, gb_ints(b, 3));
}

static void emit_overlap(struct gb *b, struct stage *s, const int *v)
{
    static const char *const tails[] = { "complete", "full" };
    uint32_t f = GB(b, "Frame", gb_printf(b, "size=%d hop=%d before=%d", v[0], v[1], v[2]), s->wire);
    f = GB(b, "Mul", "", f, gb_weights(b, 1, v[0]));
    s->wire = GB(b, "OverlapAdd", gb_printf(b, "hop=%d tail=%s", v[1], tails[v[3]]), f);
}

static void emit_stft(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_slice(b, s->wire, 1, 0, 1, 1);
    x = gb_transpose(b, x, "0,2,1");
    x = GB(b, "STFT", "onesided=1", x, gb_int(b, v[1]), gb_weights(b, 1, v[0]), gb_int(b, v[0]));
    x = GB(b, "ReduceSum", "keepdims=0", x, gb_ints(b, 3));
    s->wire = gb_transpose(b, x, "0,2,1");
    s->channels = v[0] / 2 + 1;
}

/* ---- ends ---- */

static void emit_pad(struct gb *b, struct stage *s, const int *v)
{
    static const char *const modes[] = { "constant", "edge", "reflect" };
    s->wire = gb_pad(b, s->wire, 3, 2, modes[v[0]], v[1], v[2]);
}

static void emit_concat(struct gb *b, struct stage *s, const int *v)
{
    uint32_t list[3];
    unsigned n = 0;
    if (v[0])
        list[n++] = gb_weights(b, 3, 1, s->channels, v[0]);
    list[n++] = s->wire;
    if (v[1])
        list[n++] = gb_weights(b, 3, 1, s->channels, v[1]);
    s->wire = gb_op(b, "Concat", "axis=2", list, n);
}

/* ---- element by element, and two ways that meet ---- */

static void emit_map(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ops[] = { "Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Elu" };
    s->wire = GB(b, ops[v[0]], "", s->wire);
}

static void emit_scale(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = v[0] ? gb_scalar(b, (float) v[0]) : gb_weights(b, 3, 1, s->channels, 1);
    s->wire = GB(b, v[1] ? "Add" : "Mul", "", s->wire, w);
}

/* x[a..] * conv(x), both of the same length: one way is v[0]-1 frames later than the other. */
static void emit_skip(struct gb *b, struct stage *s, const int *v)
{
    int at = v[1] < v[0] ? v[1] : v[0] - 1;
    uint32_t w = gb_weights(b, 3, s->channels, s->channels, v[0]);
    uint32_t y = GB(b, "Conv", "", s->wire, w), cut = gb_slice(b, s->wire, 2, at, at - v[0] + 1 < 0 ? at - v[0] + 1 : INT32_MAX, 1);
    s->wire = GB(b, v[2] ? "Add" : "Mul", "", v[2] ? cut : y, v[2] ? y : cut);
}

static void emit_where(struct gb *b, struct stage *s, const int *v)
{
    uint32_t c = GB(b, "Less", "", s->wire, gb_scalar(b, (float) v[0] / 8));
    s->wire = GB(b, "Where", "", c, GB(b, "Neg", "", s->wire), s->wire);
}

/* ---- along other axes ---- */

static void emit_softmax(struct gb *b, struct stage *s, const int *v)
{
    s->wire = GB(b, v[0] ? "LogSoftmax" : "Softmax", "axis=1", s->wire);
}

static void emit_norm(struct gb *b, struct stage *s, const int *v)
{
    uint32_t x = gb_transpose(b, s->wire, "0,2,1");
    (void) v;
    x = GB(b, "LayerNormalization", "axis=-1", x, gb_weights(b, 1, s->channels), gb_weights(b, 1, s->channels));
    s->wire = gb_transpose(b, x, "0,2,1");
}

static void emit_matmul(struct gb *b, struct stage *s, const int *v)
{
    uint32_t w = gb_weights(b, 2, s->channels, s->channels);
    if (v[0])
        s->wire = GB(b, "MatMul", "", w, s->wire);
    else
        s->wire = gb_transpose(b, GB(b, "MatMul", "", gb_transpose(b, s->wire, "2,0,1"), w), "1,2,0");
}

static void emit_reduce(struct gb *b, struct stage *s, const int *v)
{
    static const char *const ops[] = { "ReduceMean", "ReduceMax", "ReduceL2", "ReduceSum" };
    s->wire = GB(b, "Sub", "", s->wire, GB(b, ops[v[0]], "keepdims=1", s->wire, gb_ints(b, 1)));
}

static void emit_gather(struct gb *b, struct stage *s, const int *v)
{
    int64_t list[3] = { v[0] % s->channels, 0, v[1] % s->channels };
    s->wire = GB(b, "Gather", "axis=1", s->wire, gb_ints_of(b, 3, list));
    s->channels = 3;
}

static void emit_fold(struct gb *b, struct stage *s, const int *v)
{
    const struct dim *one = dim_int(b->dims, 1);
    (void) v;
    uint32_t x = GB(b, "Unsqueeze", "", s->wire, gb_ints(b, 0, 3));
    x = GB(b, "Squeeze", "", x, gb_ints(b, 0));
    x = GB(b, "Reshape", "", x, gb_ints(b, 1, 1, s->channels, -1));
    s->wire = GB(b, "Squeeze", "", x, gb_shape(b, 1, &one));
}

static const struct step_kind kinds[] = {
    { "conv", { WINDOW_PARAMS(4), { "auto", 0, 3, 0 }, { "deep", 0, 1, 0 } }, emit_conv },
    { "conv2d", { WINDOW_PARAMS(4) }, emit_conv2d },
    { "max", { WINDOW_PARAMS(1), { "auto", 0, 3, 0 }, { "ceil", 0, 1, 0 } }, emit_max },
    { "average", { WINDOW_PARAMS(1), { "auto", 0, 3, 0 }, { "without", 0, 1, 0 }, { "ceil", 0, 1, 0 } }, emit_average },
    { "lp", { WINDOW_PARAMS(1), { "auto", 0, 3, 0 }, { "p", 1, 3, 2 } }, emit_lp },
    { "slice", { { "from", 0, 5, 0 }, { "to", -4, 0, 0 }, { "step", 1, 3, 1 } }, emit_slice },
    { "frame", { { "size", 1, 6, 4 }, { "hop", 1, 4, 2 }, { "before", 0, 4, 0 }, { "end", 0, 2, 0 } }, emit_frame },
    { "overlap", { { "size", 2, 6, 4 }, { "hop", 1, 2, 2 }, { "before", 0, 4, 0 }, { "tail", 0, 1, 0 } }, emit_overlap },
    { "stft", { { "size", 4, 8, 4 }, { "hop", 1, 4, 2 } }, emit_stft },
    { "pad", { { "mode", 0, 2, 0 }, { "l", 0, 5, 0 }, { "r", 0, 5, 0 } }, emit_pad },
    { "concat", { { "l", 0, 4, 0 }, { "r", 0, 4, 0 } }, emit_concat },
    { "map", { { "op", 0, 6, 0 } }, emit_map },
    { "scale", { { "by", 0, 3, 0 }, { "add", 0, 1, 0 } }, emit_scale },
    { "skip", { { "k", 1, 4, 2 }, { "at", 0, 3, 0 }, { "add", 0, 1, 1 } }, emit_skip },
    { "where", { { "than", -3, 3, 0 } }, emit_where },
    { "softmax", { { "log", 0, 1, 0 } }, emit_softmax },
    { "norm", { { NULL, 0, 0, 0 } }, emit_norm },
    { "matmul", { { "left", 0, 1, 0 } }, emit_matmul },
    { "reduce", { { "op", 0, 3, 0 } }, emit_reduce },
    { "gather", { { "a", 0, 3, 0 }, { "b", 0, 3, 1 } }, emit_gather },
    { "fold", { { NULL, 0, 0, 0 } }, emit_fold },
    { "deconv", { WINDOW_PARAMS(2), { "auto", 0, 3, 0 }, { "deep", 0, 1, 0 }, { "adj", 0, 2, 0 } }, emit_deconv },
};

const struct step_kind *step_kind_at(unsigned i)
{
    return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

/* ---- text ---- */

static const struct step_kind *kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name))
            return &kinds[i];
    return NULL;
}

static bool step_parse(struct chain_step *s, char *text)
{
    char *save = NULL, *w = strtok_r(text, " ", &save);
    s->kind = w ? kind_find(w) : NULL;
    for (int i = 0; s->kind && i < PARAMS_MAX; i++)
        s->v[i] = s->kind->params[i].otherwise;
    while (s->kind && (w = strtok_r(NULL, " ", &save))) {
        char *value = strchr(w, '=');
        int i = 0;
        if (!value)
            return false;
        *value++ = '\0';
        while (i < PARAMS_MAX && s->kind->params[i].name && strcmp(s->kind->params[i].name, w))
            i++;
        if (i == PARAMS_MAX || !s->kind->params[i].name)
            return false;
        s->v[i] = atoi(value);
    }
    return s->kind != NULL;
}

bool chain_parse(struct chain *c, const char *text)
{
    char copy[1024], *save = NULL, *rest;
    snprintf(copy, sizeof copy, "%s", text);
    *c = (struct chain) { .channels = (int) strtol(copy, &rest, 10), .times = 1 };
    if (*rest == 'x')
        c->times = (int) strtol(rest + 1, &rest, 10);
    if (*rest++ != ':')
        return false;
    for (char *w = strtok_r(rest, ";", &save); w; w = strtok_r(NULL, ";", &save))
        if (c->n == STEPS_MAX || !step_parse(&c->steps[c->n++], w))
            return false;
    return true;
}

int chain_print(const struct chain *c, char *buf, size_t cap)
{
    int at = snprintf(buf, cap, c->times > 1 ? "%dx%d:" : "%d:", c->channels, c->times);
    for (unsigned i = 0; i < c->n && at > 0 && (size_t) at < cap; i++) {
        const struct chain_step *s = &c->steps[i];
        at += snprintf(buf + at, cap - (size_t) at, "%s %s", i ? ";" : "", s->kind->name);
        for (int k = 0; k < PARAMS_MAX && s->kind->params[k].name && (size_t) at < cap; k++)
            if (s->v[k] != s->kind->params[k].otherwise)
                at += snprintf(buf + at, cap - (size_t) at, " %s=%d", s->kind->params[k].name, s->v[k]);
    }
    return at;
}

void chain_recipe(struct gb *b, const void *ctx)
{
    const struct chain *c = ctx;
    struct stage s = { gb_input(b, "x", 3, 1, c->channels, GB_TIME * c->times), c->channels };
    for (unsigned i = 0; i < c->n; i++) {
        c->steps[i].kind->emit(b, &s, c->steps[i].v);
        if (c->taps >> i & 1 && i + 1 < c->n)
            gb_output(b, s.wire);
    }
    gb_output(b, s.wire);
}
