/* SPDX-License-Identifier: MIT */
/* Convolution of 8-bit numbers with lanes along places. Channels are laid out with their padding,
 * and split by strides: place p of a row reads column p * stride + k, which is column p + k /
 * stride of image k % stride. So all places, row behind row, are one line, and the columns between
 * the rows are computed for nothing. */
#include "engine/ops/quant_places.h"

#include <string.h>

#define TILE_BYTES 65536 /* of packed places and their sums */
#define CHUNK 16         /* short rows are moved so many bytes at once */
#define STEP_MAX 4       /* bytes from tap to tap of a line */
#define NEAR_TERMS 64    /* among which the next tap of a line is looked for */

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t up_to(int64_t v, int64_t multiple)
{
    return (v + multiple - 1) / multiple * multiple;
}

/* ---- plan ---- */

static void images_set(struct places *v)
{
    const struct window3 *g = &v->g;
    v->in_place = true;
    v->channel = 1;
    for (int i = 0; i < 3; i++) {
        int64_t reach = (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] + 1;
        v->size[i] = (reach + g->stride[i] - 1) / g->stride[i];
        v->channel *= v->size[i] * g->stride[i];
        v->in_place = v->in_place && g->stride[i] == 1 && !g->before[i] && v->size[i] == g->in[i];
    }
    v->flat = ((g->out[0] - 1) * v->size[1] + g->out[1] - 1) * v->size[2] + g->out[2];
}

bool places_pay(const struct places *v)
{
    struct places s = *v;
    images_set(&s);
    int64_t lanes = up_to(s.flat, 16) * v->cout, other = up_to(v->cout, 16) * v->g.n_out;
    return v->g.n_out >= 8 && lanes <= (v->pointwise ? 1 : 2) * other;
}

/* Where place 0 finds kernel place k of a channel. */
static int64_t term_at(const struct places *v, const int64_t k[3])
{
    const struct window3 *g = &v->g;
    int64_t image = 0, at = 0;
    for (int i = 0; i < 3; i++) {
        int64_t to = k[i] * g->dilation[i];
        image = image * g->stride[i] + to % g->stride[i];
        at = at * v->size[i] + to / g->stride[i];
    }
    return image * v->size[0] * v->size[1] * v->size[2] + at;
}

static void terms_set(struct places *v)
{
    const struct window3 *g = &v->g;
    size_t *at = v->at;
    int64_t k[3];
    for (int64_t ch = 0; ch < v->cin; ch++)
        for (k[0] = 0; k[0] < g->kernel[0]; k[0]++)
            for (k[1] = 0; k[1] < g->kernel[1]; k[1]++)
                for (k[2] = 0; k[2] < g->kernel[2]; k[2]++)
                    *at++ = (size_t) (ch * v->channel + term_at(v, k));
}

/* Taps of an output, no more than four to a line, each a step behind the one before; returns their
 * lines. ret: NULL: they are counted. */
static size_t taps_pack(const struct places *v, const int16_t *w, struct kern_taps_line *ret)
{
    const size_t n = (size_t) (v->cin * v->g.n_kernel);
    size_t lines = 0, count = 0, next = 0;
    bool *done = (bool *) (void *) (v->at + n);
    memset(done, 0, n);
    for (size_t i = 0; i < n; i++) {
        if (done[i])
            continue;
        if (ret)
            ret[lines] = (struct kern_taps_line) { .at = v->at[i] };
        next = v->at[i];
        count = 0;
        for (size_t l = i; l < n && l < i + NEAR_TERMS && count < 4; l++) {
            if (done[l] || v->at[l] != next)
                continue;
            if (ret)
                ret[lines].w[count] = w[l];
            done[l] = true;
            next += v->step;
            count++;
        }
        lines++;
    }
    return lines;
}

static rill_status lines_prepare(struct prep *c, struct places *v)
{
    const struct tensor *w = c->in[PRODUCT_W],
                        *zero = c->n_in > PRODUCT_W_ZERO ? c->in[PRODUCT_W_ZERO] : NULL;
    const size_t n = (size_t) (v->cin * v->g.n_kernel), outs = (size_t) (v->cout * v->group);
    v->n_lines = taps_pack(v, NULL, NULL);
    struct kern_taps_line *line = arena_array(c->arena, struct kern_taps_line, outs * v->n_lines);
    int32_t *sum = arena_array(c->arena, int32_t, outs);
    int16_t *one = arena_array(c->arena, int16_t, n);
    if (!line || !sum || !one)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (size_t o = 0; o < outs; o++) {
        int64_t z =
            zero ? tensor_get_i64(zero, zero->data, tensor_count(zero) > 1 ? (int64_t) o : 0) : 0;
        for (size_t i = 0; i < n; i++) {
            one[i] = (int16_t) (tensor_get_i64(w, w->data, (int64_t) (o * n + i)) - z);
            sum[o] += one[i];
        }
        taps_pack(v, one, line + o * v->n_lines);
    }
    v->line = line;
    v->sum = sum;
    return RILL_OK;
}

static int64_t gcd(int64_t a, int64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static void sizes_set(struct places *v)
{
    const int64_t k = v->cin * v->g.n_kernel, groups = (k + 3) / 4 * 4;
    int64_t most = TILE_BYTES / (v->taps ? 4 : groups + v->cout * 4) / 16 * 16;
    most = most < 64 ? 64 : most;
    v->tile = up_to(v->flat, 16) < most ? up_to(v->flat, 16) : most;
    v->x_bytes = v->in_place ? 0
                             : whole_lines((size_t) (v->cin * v->channel + 16) + KERN_TAPS_BEHIND +
                                           CHUNK + (size_t) v->tile);
    v->packed_bytes =
        v->taps ? 0 : whole_lines((size_t) (v->tile * (groups + 8)) + (size_t) v->cout * 4);
    v->sums_bytes = whole_lines((size_t) (v->tile * 4) * (v->taps ? 1 : (size_t) v->cout));
}

rill_status places_prepare(struct prep *c, struct places *v)
{
    const size_t n = (size_t) (v->cin * v->g.n_kernel);
    const int64_t step = v->g.dilation[2] / gcd(v->g.dilation[2], v->g.stride[2]);
    images_set(v);
    v->in_place = v->in_place && !v->taps;
    v->bytes = v->to.by;
    v->step = step <= STEP_MAX ? (size_t) step : 1;
    v->at = arena_array(c->arena, size_t, n + n / sizeof(size_t) + 1);
    if (!v->at)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    terms_set(v);
    if (v->taps)
        TRY(lines_prepare(c, v));
    sizes_set(v);
    c->kernel = v->taps ? "taps_sum" : "places_pack, gemm_q8";
    c->scratch_bytes = v->x_bytes + v->packed_bytes + v->sums_bytes + (size_t) v->tile + CHUNK;
    return RILL_OK;
}

/* ---- channels with their padding ---- */

/* A row of n bytes and the padding behind it; what follows is written later, or not at all. `room`
 * is how many may be read from x on. */
static void row_lay(uint8_t *to, const uint8_t *x, int64_t n, int64_t room, uint8_t fill)
{
    if (n > CHUNK || room < CHUNK) {
        memcpy(to, x, (size_t) n);
        return;
    }
    memcpy(to, x, CHUNK);
    memset(to + n, fill, CHUNK);
}

/* Every stride[2]-th byte from the first that lies in this image. */
static void row_split(const struct places *v, uint8_t *to, const uint8_t *x)
{
    const int64_t s = v->g.stride[2], before = v->g.before[2], n = v->g.in[2],
                  image = v->size[0] * v->size[1] * v->size[2];
    for (int64_t c = 0; c < s; c++, to += image) {
        int64_t p = before > c ? (before - c + s - 1) / s : 0;
        for (int64_t i = p * s + c - before; p < v->size[2] && i < n; p++, i += s)
            to[p] = x[i];
    }
}

/* Of strides of 1. */
static void channel_lay_whole(const struct places *v, uint8_t *to, const uint8_t *x,
                              const uint8_t *end, uint8_t fill)
{
    const struct window3 *g = &v->g;
    const int64_t n = g->in[2] < v->size[2] - g->before[2] ? g->in[2] : v->size[2] - g->before[2];
    const int64_t rows0 = v->size[0] - g->before[0], rows1 = v->size[1] - g->before[1];
    for (int64_t i0 = 0; i0 < g->in[0] && i0 < rows0 && n > 0; i0++) {
        const uint8_t *from = x + i0 * g->in[1] * g->in[2];
        uint8_t *row =
            to + ((i0 + g->before[0]) * v->size[1] + g->before[1]) * v->size[2] + g->before[2];
        for (int64_t i1 = 0; i1 < g->in[1] && i1 < rows1; i1++) {
            row_lay(row, from, n, end - from, fill);
            row += v->size[2];
            from += g->in[2];
        }
    }
}

/* Of any. */
static void channel_lay(const struct places *v, uint8_t *to, const uint8_t *x, const uint8_t *end,
                        uint8_t fill)
{
    const struct window3 *g = &v->g;
    const int64_t image = v->size[0] * v->size[1] * v->size[2];
    const int64_t room = v->size[2] - g->before[2], n = g->in[2] < room ? g->in[2] : room;
    if (g->stride[0] == 1 && g->stride[1] == 1 && g->stride[2] == 1) {
        channel_lay_whole(v, to, x, end, fill);
        return;
    }
    for (int64_t i0 = 0; i0 < g->in[0]; i0++)
        for (int64_t i1 = 0; i1 < g->in[1]; i1++, x += g->in[2]) {
            int64_t p0 = i0 + g->before[0], p1 = i1 + g->before[1], at0 = p0 / g->stride[0],
                    at1 = p1 / g->stride[1];
            if (at0 >= v->size[0] || at1 >= v->size[1])
                continue;
            uint8_t *row = to +
                (p0 % g->stride[0] * g->stride[1] + p1 % g->stride[1]) * g->stride[2] * image +
                (at0 * v->size[1] + at1) * v->size[2];
            if (g->stride[2] > 1)
                row_split(v, row, x);
            else if (n > 0)
                memcpy(row + g->before[2], x, (size_t) n);
        }
}

static const uint8_t *group_lay(const struct places *v, uint8_t *to, const uint8_t *x,
                                const uint8_t *end, uint8_t fill)
{
    if (v->in_place)
        return x;
    memset(to, fill, v->x_bytes);
    for (int64_t ch = 0; ch < v->cin; ch++, x += v->g.n_in)
        channel_lay(v, to + ch * v->channel, x, end, fill);
    return to;
}

/* ---- places without those between the rows ---- */

/* n elements from flat place `at` on, of `bytes` bytes each, to the image of an output. */
static void rows_keep(const struct places *v, void *image, const void *from, int64_t at, int64_t n,
                      size_t bytes)
{
    const int64_t wide = v->size[2], w = v->g.out[2];
    int64_t row = at / wide, p = at % wide, o1 = row % v->size[1], o0 = row / v->size[1];
    const char *x = from;
    char *y = image, *end = y + (size_t) v->g.n_out * bytes;
    for (int64_t i = 0; i < n; i += wide - p, x += (size_t) (wide - p) * bytes, p = 0, o1++) {
        if (o1 == v->size[1]) {
            o1 = 0;
            o0++;
        }
        int64_t some = w - p < n - i ? w - p : n - i;
        char *to = y + (size_t) ((o0 * v->g.out[1] + o1) * w + p) * bytes;
        if (o1 >= v->g.out[1] || some <= 0)
            continue;
        if ((size_t) some * bytes <= CHUNK && end - to >= CHUNK)
            memcpy(to, x, CHUNK); /* what is too much is written over by the rows behind */
        else
            memcpy(to, x, (size_t) some * bytes);
    }
}

/* Sums of output o from flat place `at` on, to what comes out. `some` is scratch for a tile. */
static void sums_put(const struct eval *e, const struct places *v, void *image, const int32_t *sums,
                     int64_t o, int64_t at, int64_t n, uint8_t *some)
{
    const bool whole = v->flat == v->g.n_out;
    const size_t bytes = v->bytes ? 1 : sizeof *sums;
    const void *from = sums;
    if (v->bytes) {
        const struct kern_scale to = { .bias = v->to.bias && !v->taps ? v->to.bias + o : NULL,
                                       .by = v->to.by + o,
                                       .add = v->to.add ? v->to.add + o : NULL,
                                       .zero = v->to.zero,
                                       .low = v->to.low,
                                       .high = v->to.high,
                                       .leaky = v->to.leaky };
        uint8_t *y = whole ? (uint8_t *) image + at : some;
        e->kern->scale_bytes(y, sums, (size_t) n, &to);
        from = y;
    }
    if (!whole)
        rows_keep(v, image, from, at, n, bytes);
    else if (!v->bytes && from != (int32_t *) image + at)
        memcpy((int32_t *) image + at, from, (size_t) n * bytes);
}

/* ---- line by line ---- */

static void taps_run(const struct eval *e, const struct places *v, const uint8_t *x, char *image,
                     int64_t o, int32_t zero)
{
    char *scratch = (char *) e->scratch + v->x_bytes;
    int32_t *sums = (int32_t *) (void *) scratch;
    const uint32_t bias = v->bytes && v->to.bias ? (uint32_t) v->to.bias[o] : 0,
                   read = (uint32_t) (zero + (v->x_signed ? 128 : 0));
    const struct kern_taps t = { .flip = v->x_signed ? 0x80 : 0,
                                 .step = v->step,
                                 .n_lines = v->n_lines,
                                 .bias = (int32_t) (bias - read * (uint32_t) v->sum[o]),
                                 .line = v->line + (size_t) o * v->n_lines };
    for (int64_t at = 0; at < v->flat; at += v->tile) {
        int64_t n = v->flat - at < v->tile ? v->flat - at : v->tile;
        e->kern->taps_sum(sums, x + at, (size_t) n, &t);
        if (v->floats)
            product_sums_float(sums, n);
        sums_put(e, v, image, sums, o, at, n, (uint8_t *) scratch + v->sums_bytes);
    }
}

/* ---- as a product, whose rows are the weights of an output ---- */

struct product {
    struct kern_q8 places;
    struct kern_q8_x weights;
    int8_t *packed;
    int32_t *packed_sums, *sums; /* of a tile's products */
    uint8_t *some;
};

/* The zeros of a group's weights: one, or one for each output. */
static void weights_read(const struct eval *e, const struct places *v, int64_t group,
                         struct product *p, int32_t *zeros)
{
    const bool has = e->n_in > PRODUCT_W_ZERO && e->x[PRODUCT_W_ZERO];
    const struct tensor *t = has ? e->in[PRODUCT_W_ZERO] : NULL;
    const int64_t n = has ? tensor_count(t) : 0;
    p->weights.is_signed = v->w_signed;
    if (!n)
        return;
    for (int64_t i = 0; i < (n > 1 ? v->cout : 1); i++)
        zeros[i] =
            (int32_t) tensor_get_i64(t, e->x[PRODUCT_W_ZERO], n > 1 ? group * v->cout + i : 0);
    p->weights.zero = zeros;
    p->weights.zero_step = n > 1;
}

/* Scratch behind the channels: packed places, their sums, their zeros, the zeros of the weights. */
static struct product product_open(const struct eval *e, const struct places *v, int64_t group,
                                   int32_t zero)
{
    char *at = (char *) e->scratch + v->x_bytes;
    const size_t k = (size_t) (v->cin * v->g.n_kernel), tile = (size_t) v->tile;
    int32_t *sums = (int32_t *) (void *) (at + (k + 3) / 4 * 4 * tile), *zeros = sums + tile;
    struct product p = { .places = { .w = (int8_t *) at, .sums = sums, .by = 1, .k = k },
                         .packed = (int8_t *) at,
                         .packed_sums = sums,
                         .sums = (int32_t *) (void *) (at + v->packed_bytes),
                         .some = (uint8_t *) at + v->packed_bytes + v->sums_bytes };
    const int32_t read = zero - (v->x_signed ? 0 : 128);
    for (size_t i = 0; i < tile; i++)
        zeros[i] = read;
    p.places.zeros = read ? zeros : NULL;
    p.places.floats = v->floats;
    weights_read(e, v, group, &p, zeros + tile);
    return p;
}

static void product_run(const struct eval *e, const struct places *v, const uint8_t *x, char *y,
                        int64_t group, int32_t zero)
{
    struct product p = product_open(e, v, group, zero);
    const size_t k = p.places.k, image = (size_t) v->g.n_out * (v->bytes ? 1 : sizeof(int32_t));
    const uint8_t *w = (const uint8_t *) e->x[PRODUCT_W] + (size_t) (group * v->cout) * k;
    for (int64_t at = 0; at < v->flat; at += v->tile) {
        int64_t n = v->flat - at < v->tile ? v->flat - at : v->tile;
        bool direct = v->flat == v->g.n_out && !v->bytes;
        int32_t *to = direct ? (int32_t *) (void *) y + at : p.sums;
        p.places.n = (size_t) n;
        e->kern->places_pack(p.packed, p.packed_sums, x + at, v->at, k, (size_t) n,
                             v->x_signed ? 0 : 0x80);
        e->kern->gemm_q8(to, (size_t) (direct ? v->flat : v->tile), w, k, &p.places, &p.weights,
                         (size_t) v->cout);
        for (int64_t o = 0; o < v->cout && !direct; o++)
            sums_put(e, v, y + (size_t) o * image, p.sums + o * v->tile, group * v->cout + o, at, n,
                     p.some);
    }
}

void places_eval(const struct eval *e, const struct places *v, int32_t zero)
{
    const uint8_t *x = e->x[PRODUCT_X], *end = x + v->batch * v->group * v->cin * v->g.n_in;
    const size_t image = (size_t) v->g.n_out * (v->bytes ? 1 : sizeof(int32_t));
    char *y = e->y[0];
    for (int64_t b = 0; b < v->batch; b++)
        for (int64_t i = 0; i < v->group; i++) {
            const uint8_t *from = group_lay(v, e->scratch, x, end, (uint8_t) zero);
            for (int64_t o = 0; o < v->cout && v->taps; o++)
                taps_run(e, v, from, y + (size_t) o * image, i * v->cout + o, zero);
            if (!v->taps)
                product_run(e, v, from, y, i, zero);
            x += v->cin * v->g.n_in;
            y += (size_t) v->cout * image;
        }
}
