/* SPDX-License-Identifier: MIT */
/* Random chains, and their NNEF text. */
#include "tests/e2e/align_chain.h"

#include <string.h>

static uint32_t state = 1;

void chain_seed(uint32_t seed)
{
    state = seed * 2654435761u + 1;
}

uint32_t chain_random(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

/* ---- making ---- */

static void add(struct chain *ch, struct element e)
{
    if (ch->n == ELEMENTS_MAX)
        return;
    ch->element[ch->n++] = e;
    ch->least_samples += e.size + e.hop + e.before + e.after;
}

static int upto(int least, int most)
{
    return least + (int) chain_random((uint32_t) (most - least + 1));
}

/* The pads make up for what the kernel takes: looks back, ahead or both ways. */
static void make_same(struct chain *ch)
{
    int k = upto(1, 9), before = upto(0, k - 1);
    add(ch,
        (struct element) { ELEMENT_CONV, .size = k, .place = before, .before = before,
                           .after = k - 1 - before });
}

static void make_padded(struct chain *ch)
{
    if (!ch->level) /* the pad alone might make it as long as something else */
        return;
    int k = upto(2, 9), before = upto(0, k - 1);
    add(ch,
        (struct element) { ELEMENT_PAD, .before = before, .after = k - 1 - before,
                           .mode = upto(0, 2) });
    add(ch, (struct element) { ELEMENT_CONV, .size = k, .place = before });
}

static void make_valid(struct chain *ch)
{
    int half = upto(1, 5);
    ch->level = false;
    add(ch, (struct element) { ELEMENT_CONV, .size = 2 * half + 1, .place = half });
}

static void make_slice(struct chain *ch)
{
    int what = upto(1, 3);
    ch->level = false;
    add(ch,
        (struct element) { ELEMENT_SLICE, .before = what & 1 ? upto(1, 9) : 0,
                           .after = what & 2 ? upto(1, 9) : 0 });
}

static void make_pad_slice(struct chain *ch)
{
    int n = upto(1, 9);
    add(ch, (struct element) { ELEMENT_PAD, .before = n });
    add(ch, (struct element) { ELEMENT_SLICE, .before = n });
}

/* Cut off at one end and made up for with zeros at the other, which what reads it may take for its
 * own: the zeros make it as long as it was. */
static void make_moved(struct chain *ch)
{
    if (!ch->level)
        return;
    int n = upto(1, 9);
    bool ahead = chain_random(2);
    add(ch, (struct element) { ELEMENT_SLICE, .before = ahead ? n : 0, .after = ahead ? 0 : n });
    add(ch, (struct element) { ELEMENT_PAD, .before = ahead ? 0 : n, .after = ahead ? n : 0 });
}

/* Held back; where no length tells so, what stands in front would count as a pad. */
static void make_delay(struct chain *ch)
{
    if (!ch->level)
        return;
    int n = upto(1, 20);
    add(ch, (struct element) { ELEMENT_ZEROS, .before = n });
    add(ch, (struct element) { ELEMENT_SLICE, .after = n });
}

/* Padded on both sides for all of the kernel, then cut behind (looks back) or in front (ahead; only
 * where the length that comes back tells which). */
static void make_chomp(struct chain *ch)
{
    int k = upto(2, 6);
    bool ahead = ch->level && chain_random(2);
    add(ch,
        (struct element) { ELEMENT_CONV, .size = k, .place = ahead ? 0 : k - 1, .before = k - 1,
                           .after = k - 1 });
    add(ch,
        (struct element) { ELEMENT_SLICE, .before = ahead ? k - 1 : 0,
                           .after = ahead ? 0 : k - 1 });
}

static void make_frames(struct chain *ch)
{
    ch->level = true;
    int hop = upto(2, 8), size = hop << upto(0, 2);
    add(ch,
        (struct element) { ELEMENT_FRAMES, .size = size, .hop = hop, .before = size - hop,
                           .after = upto(0, 1), .mode = upto(0, 2) });
}

static void make_any(struct chain *ch, int channels);

static void make_down_up(struct chain *ch, int channels)
{
    int s = ch->of_symbol ? 2 << upto(0, 1) : upto(2, 4);
    if (channels * s > 12)
        return;
    if (ch->n == 0 && chain_random(3) == 0)
        add(ch,
            (struct element) { ELEMENT_PAD, .before = upto(0, s - 1), .after = upto(0, s - 1) });
    add(ch, (struct element) { ELEMENT_DOWN, .size = s });
    ch->level = true;
    for (int n = upto(0, 2); n; n--)
        make_any(ch, channels * s);
    add(ch, (struct element) { ELEMENT_UP, .size = s });
    ch->level = true;
}

static void make_any(struct chain *ch, int channels)
{
    static void (*const makes[])(struct chain *) = {
        make_same,      make_padded, make_valid, make_slice,
        make_pad_slice, make_delay,  make_chomp, make_moved,
    };
    const uint32_t n = sizeof makes / sizeof *makes;
    uint32_t k = chain_random(n + 2);
    if (k < n)
        makes[k](ch);
    else if (k == n || channels > 1)
        make_down_up(ch, channels);
    else
        make_frames(ch);
}

void chain_make(struct chain *ch, bool other_rate)
{
    memset(ch, 0, sizeof *ch);
    ch->of_symbol = chain_random(5) == 0;
    ch->level = true;
    for (int n = upto(1, 4); n; n--)
        make_any(ch, 1);
    if (!other_rate && chain_random(4) == 0)
        add(ch, (struct element) { ELEMENT_PAD, .before = upto(0, 9), .after = upto(0, 9) });
    if (other_rate)
        add(ch,
            (struct element) { chain_random(2) ? ELEMENT_KEEP : ELEMENT_REPEAT,
                               .size = upto(2, 5) });
    ch->least_samples *= 16;
}

/* ---- text ---- */

static void constant_print(FILE *f, int n0, int n1, int n2, bool (*is_one)(int, int, int, int),
                           int arg)
{
    fprintf(f, "constant(shape = [%d, %d, %d], value = [", n0, n1, n2);
    for (int i = 0; i < n0 * n1 * n2; i++)
        fprintf(f, "%s%s", i ? ", " : "",
                is_one(i / (n1 * n2), i / n2 % n1, i % n2, arg) ? "1.0" : "0.0");
    fprintf(f, "])");
}

static bool one_at(int i, int j, int k, int place)
{
    (void) i, (void) j;
    return k == place;
}

/* Channel i of the slow side is sample i % size of channel i / size of the fast one. */
static bool one_spread(int i, int j, int k, int size)
{
    return j == i / size && k == i % size;
}

static bool one_always(int i, int j, int k, int arg)
{
    (void) i, (void) j, (void) k, (void) arg;
    return true;
}

static void frames_print(const struct element *e, FILE *f)
{
    static const char *const ends[] = { "flush", "cover", "drop" };
    fprintf(f,
            "unsqueeze(rill_overlap_add(rill_frame(squeeze(v, axes = [0, 1]), size = %d, hop = %d, "
            "before = %d, end = \"%s\"), hop = %d, tail = \"%s\") * %.9f, axes = [0, 1])",
            e->size, e->hop, e->before, ends[e->mode], e->hop, e->after ? "full" : "complete",
            (double) e->hop / e->size);
}

static void pad_print(const struct element *e, FILE *f)
{
    static const char *const modes[] = { "constant", "reflect", "replicate" };
    fprintf(f, "pad(v, padding = [(0, 0), (0, 0), (%d, %d)], border = '%s')", e->before, e->after,
            modes[e->mode]);
}

static void conv_print(const struct element *e, int channels, FILE *f)
{
    fprintf(f, "conv(v, ");
    constant_print(f, channels, 1, e->size, one_at, e->place);
    fprintf(f, ", 0.0, padding = [(%d, %d)], stride = [1], groups = %d)", e->before, e->after,
            channels);
}

/* Across rates; what follows the product's name. */
static void rates_print(const struct element *e, int channels, FILE *f)
{
    bool down = e->kind == ELEMENT_DOWN || e->kind == ELEMENT_KEEP;
    fprintf(f, "%s(v, ", down ? "conv" : "deconv");
    if (e->kind == ELEMENT_DOWN)
        constant_print(f, channels * e->size, channels, e->size, one_spread, e->size);
    else if (e->kind == ELEMENT_UP)
        constant_print(f, channels, channels / e->size, e->size, one_spread, e->size);
    else if (down)
        constant_print(f, 1, 1, e->size, one_at, 0);
    else
        constant_print(f, 1, 1, e->size, one_always, 0);
    fprintf(f, ", 0.0, padding = [(0, 0)], stride = [%d])", e->size);
}

static void element_print(const struct element *e, int channels, FILE *f)
{
    switch (e->kind) {
    case ELEMENT_CONV: conv_print(e, channels, f); break;
    case ELEMENT_PAD: pad_print(e, f); break;
    case ELEMENT_SLICE:
        fprintf(f, "slice(v, axes = [2], begin = [%d], end = [%d])", e->before, -e->after);
        break;
    case ELEMENT_ZEROS:
        fprintf(f, "concat([rill_fill([1, %d, %d], 0.0), v], axis = 2)", channels, e->before);
        break;
    case ELEMENT_FRAMES: frames_print(e, f); break;
    default: rates_print(e, channels, f);
    }
}

/* v is the wire before in element_print; each has a name of its own here. */
void chain_text(const struct chain *ch, bool apart, FILE *f)
{
    int channels = 1;
    fprintf(f, "version 1.0;\n\n");
    for (int i = 0; i < ch->n; i++) {
        const struct element *e = &ch->element[i];
        fprintf(f, "fragment e%d(v: tensor<scalar>) -> (w: tensor<scalar>)\n{\n    u = ", i);
        element_print(e, channels, f);
        fprintf(f, ";\n    w = %s;\n}\n\n", apart ? "max(u, -1000000.0)" : "copy(u)");
        channels = e->kind == ELEMENT_DOWN ? channels * e->size
            : e->kind == ELEMENT_UP        ? channels / e->size
                                           : channels;
    }
    fprintf(f,
            "graph chain(pcm) -> (out)\n{\n    pcm = external<scalar>(shape = [S]);\n"
            "    w0 = unsqueeze(pcm, axes = [0, 1]);\n");
    for (int i = 0; i < ch->n; i++)
        fprintf(f, "    w%d = e%d(w%d);\n", i + 1, i, i);
    fprintf(f, "    out = squeeze(w%d, axes = [0, 1]);\n}\n", ch->n);
}

void chain_print(const struct chain *ch, FILE *f)
{
    static const char *const names[] = { "conv", "pad",    "slice", "zeros", "down",
                                         "up",   "frames", "keep",  "repeat" };
    fprintf(f, ch->of_symbol ? "S=%d*N:" : "S:", SYMBOL_SAMPLES);
    for (int i = 0; i < ch->n; i++) {
        const struct element *e = &ch->element[i];
        fprintf(f, " %s(size %d hop %d place %d before %d after %d mode %d)", names[e->kind],
                e->size, e->hop, e->place, e->before, e->after, e->mode);
    }
    fprintf(f, "\n");
}
