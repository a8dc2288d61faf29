/* SPDX-License-Identifier: MIT */
/* Families of recognisers: what their metadata and their inputs say of chunks and states. */
#include "models/recogniser/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 65536
#define WIDTH_MAX 65536

/* ---- metadata ---- */

rill_status recogniser_number(const struct recogniser *r, const char *key, uint32_t least,
                              uint32_t most, uint32_t *ret)
{
    const char *text = onnx_about_meta(&r->net->about, key);
    char *end;
    if (!text)
        return err_set(r->err, RILL_INVALID,
                       "%.160s: its metadata have no '%s', which a streaming %s states",
                       r->net->name, key, r->kind->people);
    unsigned long long n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < least || n > most)
        return err_set(r->err, RILL_INVALID,
                       "%.160s: '%s' of its metadata is '%.40s'; expected a number from %u to %u",
                       r->net->name, key, text, least, most);
    *ret = (uint32_t) n;
    return RILL_OK;
}

/* ---- features in, states by their order: icefall's exports ---- */

static rill_status icefall_chunk(struct recogniser *r)
{
    TRY(recogniser_number(r, "T", 1, FRAMES_MAX, &r->frames));
    return recogniser_number(r, "decode_chunk_len", 1, r->frames, &r->shift);
}

static bool shapes_agree(const struct onnx_port *a, const struct onnx_port *b)
{
    bool same = a->type == b->type && (a->rank == b->rank || a->rank < 0 || b->rank < 0);
    for (int i = 0; same && i < a->rank && i < b->rank; i++)
        same = a->dim[i] == b->dim[i] || a->dim[i] < 0 || b->dim[i] < 0;
    return same;
}

/* Whether what stands at places 1 to n - 1 comes back as it goes in. */
static rill_status shapes_check(const struct recogniser *r, uint32_t n)
{
    const struct onnx_about *f = &r->net->about;
    for (uint32_t i = 1; i < n; i++)
        if (!shapes_agree(&f->in[i], &f->out[i]))
            return err_set(r->err, RILL_INVALID,
                           "%.160s: state '%.60s' comes back as output %u, '%.60s', which has "
                           "another shape or type",
                           r->net->name, f->in[i].name, i, f->out[i].name);
    return RILL_OK;
}

static rill_status states_check(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    if (f->n_in != f->n_out || f->n_in < 2)
        return err_set(r->err, RILL_INVALID,
                       "%.160s has %u inputs and %u outputs; a streaming %s has features and "
                       "states in, and as many out. Networks that take whole recordings are no "
                       "streaming ones",
                       r->net->name, f->n_in, f->n_out, r->kind->people);
    return shapes_check(r, f->n_in);
}

static const char *icefall_scan(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    size_t room = 512 + strlen(r->net->name) + strlen(f->in[0].name) + strlen(f->out[0].name);
    for (uint32_t i = 1; i < f->n_in; i++)
        room += strlen(f->in[i].name) + strlen(f->out[i].name) + 16;
    char *text = arena_alloc(r->arena, room), *at = text;
    if (!text)
        return NULL;
    at += sprintf(
        at,
        "    frames = rill_onnx_scan(chunks, file = \"%s\", input = [\"%s\"], output = [\"%s\"],\n"
        "        state = [",
        r->net->name, f->in[0].name, f->out[0].name);
    for (uint32_t i = 1; i < f->n_in; i++)
        at += sprintf(at, "%s(\"%s\", \"%s\")", i > 1 ? ", " : "", f->in[i].name, f->out[i].name);
    sprintf(at, "]);\n");
    return text;
}

/* ---- icefall's conformer: the runner counts frames of features ---- */

#define N_CONFORMER_IN 4
#define ONNX_I64 7

static rill_status conformer_check(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    if (f->n_in != N_CONFORMER_IN || f->n_out != N_CONFORMER_IN - 1)
        return err_set(r->err, RILL_INVALID,
                       "%.160s has %u inputs and %u outputs; a streaming conformer has features, "
                       "the caches of attention and convolutions, and the frames before the "
                       "chunk (i64) in; frames and both caches out",
                       r->net->name, f->n_in, f->n_out);
    if (f->in[N_CONFORMER_IN - 1].type != ONNX_I64)
        return err_set(r->err, RILL_INVALID,
                       "%.160s: input '%.60s' is not i64; it counts the frames before the chunk",
                       r->net->name, f->in[N_CONFORMER_IN - 1].name);
    return shapes_check(r, f->n_out);
}

static const char *conformer_scan(const struct recogniser *r)
{
    const struct onnx_port *in = r->net->about.in, *out = r->net->about.out;
    return arena_printf(
        r->arena,
        "    past = rill_op('Cast', inputs = [%u.0 * rill_count(chunks)], attributes = [('to', "
        "'i64')]);\n"
        "    frames = rill_onnx_scan([chunks, past], file = \"%s\", input = [\"%s\", \"%s\"],\n"
        "        output = [\"%s\"], state = [(\"%s\", \"%s\"), (\"%s\", \"%s\")]);\n",
        r->shift, r->net->name, in[0].name, in[3].name, out[0].name, in[1].name, out[1].name,
        in[2].name, out[2].name);
}

/* ---- wenet's streaming export ---- */

/* Its metadata: frames of the network in a chunk, chunks that attention sees before it, and how
 * frames of features become those. */
struct wenet {
    uint32_t chunk, left, factor, right, blocks, heads, width;
};

static rill_status wenet_read(const struct recogniser *r, struct wenet *ret)
{
    const struct {
        const char *key;
        uint32_t least, most, *at;
    } keys[] = {
        { "chunk_size", 1, 1024, &ret->chunk },        { "left_chunks", 1, 64, &ret->left },
        { "subsampling_factor", 1, 64, &ret->factor }, { "right_context", 0, 1024, &ret->right },
        { "num_blocks", 1, 256, &ret->blocks },        { "head", 1, 256, &ret->heads },
        { "output_size", 1, 65536, &ret->width },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        TRY(recogniser_number(r, keys[i].key, keys[i].least, keys[i].most, keys[i].at));
    return RILL_OK;
}

static rill_status wenet_chunk(struct recogniser *r)
{
    struct wenet w;
    TRY(wenet_read(r, &w));
    r->frames = (w.chunk - 1) * w.factor + w.right + 1;
    r->shift = w.chunk * w.factor;
    return RILL_OK;
}

static const char *const wenet_in[] = { "x",          "offset",     "required_cache_size",
                                        "attn_cache", "conv_cache", "attn_mask" };
#define N_WENET_IN 6
#define N_WENET_OUT 3

static rill_status wenet_check(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    bool fits = f->n_in == N_WENET_IN && f->n_out == N_WENET_OUT;
    for (int i = 0; fits && i < N_WENET_IN; i++)
        fits = !strcmp(f->in[i].name, wenet_in[i]);
    return fits ? RILL_OK
                : err_set(r->err, RILL_INVALID,
                          "%.160s: expected the inputs x, offset, required_cache_size, attn_cache, "
                          "conv_cache, attn_mask and three outputs, as wenet's streaming CTC "
                          "networks have",
                          r->net->name);
}

/* How many frames have to be there before each key of attention is one: [[64.0, 63.0, ..]]. */
static const char *wenet_thresholds(const struct recogniser *r, uint32_t required, uint32_t n)
{
    char *text = arena_alloc(r->arena, (size_t) n * 16 + 8), *at = text;
    for (uint32_t i = 0; text && i < n; i++)
        at += sprintf(at, "%s%d.0", i ? ", " : "", (int) required - (int) i);
    return text;
}

/* The runner counts frames, and hides keys that were never there. */
static const char *wenet_scan(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    struct wenet w;
    if (wenet_read(r, &w) != RILL_OK)
        return NULL;
    uint32_t required = w.chunk * w.left;
    const char *keys = wenet_thresholds(r, required, required + w.chunk);
    return keys
        ? arena_printf(r->arena,
                       "    past = %u.0 * rill_count(chunks);\n"
                       "    offset = rill_op('Cast', inputs = [past + %u.0], attributes = [('to', "
                       "'i64')]);\n"
                       "    mask = past >= [[%s]];\n"
                       "    frames = rill_onnx_scan([chunks, offset, mask], file = \"%s\",\n"
                       "        input = [x, offset, attn_mask], output = [\"%s\"],\n"
                       "        const = [(required_cache_size, %u)], shape = [(attn_cache, [%u, "
                       "%u, %u, %u])],\n"
                       "        state = [(attn_cache, \"%s\"), (conv_cache, \"%s\")]);\n",
                       w.chunk, required, keys, r->net->name, f->out[0].name, required, w.blocks,
                       w.heads, required, w.width / w.heads * 2, f->out[1].name, f->out[2].name)
        : NULL;
}

/* ---- NeMo's streaming exports ---- */

static rill_status nemo_sizes(const struct recogniser *r, const char *cache, uint32_t dim[3])
{
    for (int i = 0; i < 3; i++) {
        const char *key = arena_printf(r->arena, "%s_dim%d", cache, i + 1);
        if (!key)
            return err_set(r->err, RILL_NOMEM, "out of memory");
        TRY(recogniser_number(r, key, 1, WIDTH_MAX, &dim[i]));
    }
    return RILL_OK;
}

/* And the sizes that nemo_scan needs, which has no words for one that is missing. */
static rill_status nemo_chunk(struct recogniser *r)
{
    uint32_t dim[3];
    TRY(recogniser_number(r, "window_size", 1, FRAMES_MAX, &r->frames));
    TRY(nemo_sizes(r, "cache_last_channel", dim));
    TRY(nemo_sizes(r, "cache_last_time", dim));
    return recogniser_number(r, "chunk_shift", 1, r->frames, &r->shift);
}

#define N_NEMO 5

static rill_status nemo_check(const struct recogniser *r)
{
    static const char *const names[N_NEMO] = { "audio_signal", "length", "cache_last_channel",
                                               "cache_last_time", "cache_last_channel_len" };
    const struct onnx_about *f = &r->net->about;
    const char *normal = onnx_about_meta(f, "normalize_type");
    const char *way = onnx_about_meta(f, "streaming_model_type");
    if (way && *way)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "%.160s: its metadata say streaming_model_type '%.60s', which is not known; "
                       "NeMo's cache-aware FastConformers, which have none, are",
                       r->net->name, way);
    bool fits = f->n_in == N_NEMO && f->n_out == N_NEMO;
    for (int i = 0; fits && i < N_NEMO; i++)
        fits = !strcmp(f->in[i].name, names[i]);
    if (!fits)
        return err_set(r->err, RILL_INVALID,
                       "%.160s has %u inputs (%.60s, ..) and %u outputs; expected the inputs "
                       "audio_signal, length, cache_last_channel, cache_last_time, "
                       "cache_last_channel_len and as many outputs, as a streaming %s has",
                       r->net->name, f->n_in, f->n_in ? f->in[0].name : "", f->n_out,
                       r->kind->people);
    if (normal && *normal && strcmp(normal, "NA") != 0 && strcmp(normal, "None") != 0)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "%.160s: its features are normalised (%.40s) over the recording, so it does "
                       "not stream",
                       r->net->name, normal);
    return RILL_OK;
}

/* "[1, 2, 3, 4]" of the three sizes that the metadata have. */
static const char *nemo_shape(const struct recogniser *r, const char *cache)
{
    uint32_t dim[3];
    return nemo_sizes(r, cache, dim) == RILL_OK
        ? arena_printf(r->arena, "[1, %u, %u, %u]", dim[0], dim[1], dim[2])
        : NULL;
}

static const char *nemo_scan(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    const char *channel = nemo_shape(r, "cache_last_channel"),
               *time = nemo_shape(r, "cache_last_time");
    const char *frames = r->kind->is_recurrent ? "columns" : "frames";
    const char *last =
        r->kind->is_recurrent ? "    frames = transpose(columns, axes = [0, 2, 1]);\n" : "";
    return channel && time
        ? arena_printf(
              r->arena,
              "    turned = transpose(reshape(chunks, shape = [-1, %u, %u]), axes = [0, 2, 1]);\n"
              "    %s = rill_onnx_scan(turned, file = \"%s\", input = [audio_signal],\n"
              "        output = [\"%s\"], const = [(length, %u)],\n"
              "        shape = [(cache_last_channel, %s), (cache_last_time, %s)],\n"
              "        state = [(cache_last_channel, \"%s\"), (cache_last_time, \"%s\"),\n"
              "                 (cache_last_channel_len, \"%s\")]);\n"
              "%s",
              r->frames, r->bands, frames, r->net->name, f->out[0].name, r->frames, channel, time,
              f->out[2].name, f->out[3].name, f->out[4].name, last)
        : NULL;
}

/* ---- the families ---- */

#define FBANK(samples) .pcm = samples, .features = ""

#define ICEFALL                                                                                    \
    .chunk_read = icefall_chunk, .check = states_check, .scan_write = icefall_scan, FBANK("pcm")

#define NEMO                                                                                       \
    .chunk_read = nemo_chunk, .check = nemo_check, .scan_write = nemo_scan, .features_axis = 1,    \
    .pcm = "pcm",                                                                                  \
    .features =                                                                                    \
        ", low = 0.0, high = 8000.0, mean = false, power = 1.0, slaney = true, periodic = true"

static const struct recogniser_kind kinds[] = {
    { .model_type = "zipformer2", .people = "zipformer2 transducer", ICEFALL },
    { .model_type = "zipformer", .people = "zipformer transducer", ICEFALL },
    { .model_type = "lstm", .people = "LSTM transducer", ICEFALL },
    { .model_type = "ebranchformer", .people = "E-Branchformer transducer", ICEFALL },
    { .model_type = "conv-emformer", .people = "conv-emformer transducer", ICEFALL },
    { .model_type = "conformer",
      .people = "conformer transducer",
      .chunk_read = icefall_chunk,
      .check = conformer_check,
      .scan_write = conformer_scan,
      FBANK("pcm") },
    { .model_type = "zipformer2", .is_ctc = true, .people = "zipformer2 CTC network", ICEFALL },
    { .model_type = "EncDecHybridRNNTCTCBPEModel",
      .is_recurrent = true,
      .people = "NeMo transducer",
      NEMO },
    { .model_type = "EncDecRNNTBPEModel", .is_recurrent = true, .people = "NeMo transducer", NEMO },
    { .model_type = "EncDecHybridRNNTCTCBPEModel",
      .is_ctc = true,
      .people = "NeMo CTC network",
      NEMO },
    { .model_type = "wenet_ctc",
      .is_ctc = true,
      .people = "wenet CTC network",
      .chunk_read = wenet_chunk,
      .check = wenet_check,
      .scan_write = wenet_scan,
      FBANK("pcm * 32768.0") },
};

static const char *types_known(const struct recogniser *r)
{
    const char *all = "";
    for (size_t i = 0; all && i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].is_ctc == r->is_ctc)
            all = arena_printf(r->arena, "%s%s%s", all, *all ? ", " : "", kinds[i].model_type);
    return all ? all : "";
}

static rill_status kind_find(struct recogniser *r)
{
    const char *type = onnx_about_meta(&r->net->about, "model_type");
    for (size_t i = 0; type && i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].is_ctc == r->is_ctc && !strcmp(kinds[i].model_type, type)) {
            r->kind = &kinds[i];
            return RILL_OK;
        }
    return err_set(r->err, RILL_UNSUPPORTED,
                   type ? "%.160s: its metadata say model_type '%.60s'; %s that are known: %.200s"
                        : "%.160s: its metadata have no model_type%.0s; %s that are known: %.200s",
                   r->net->name, type ? type : "", r->is_ctc ? "CTC networks" : "encoders",
                   types_known(r));
}

/* ---- sizes ---- */

static rill_status ports_check(const struct recogniser *r)
{
    const struct onnx_about *f = &r->net->about;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < (side ? f->n_out : f->n_in); i++) {
            const char *name = (side ? f->out : f->in)[i].name;
            if (strpbrk(name, "\"'\\"))
                return err_set(r->err, RILL_INVALID, "%.160s: '%.80s' is no name for %s",
                               r->net->name, name, side ? "an output" : "an input");
        }
    return RILL_OK;
}

static rill_status features_check(struct recogniser *r)
{
    const struct onnx_port *x = r->net->about.in;
    int bands = r->kind->features_axis ? r->kind->features_axis : 2, frames = 3 - bands;
    if (x->rank != 3 || x->type != 1)
        return err_set(r->err, RILL_INVALID,
                       "%.160s: its first input '%.60s' is not f32 of 3 axes (batch, frames, "
                       "features)",
                       r->net->name, x->name);
    if (x->dim[frames] > 0 && x->dim[frames] != r->frames)
        return err_set(r->err, RILL_INVALID,
                       "%.160s: its metadata say chunks of %u frames, and '%.60s' takes %lld",
                       r->net->name, r->frames, x->name, (long long) x->dim[frames]);
    if (x->dim[bands] > 1024)
        return err_set(r->err, RILL_INVALID, "%.160s: frames of %lld features; at most 1024",
                       r->net->name, (long long) x->dim[bands]);
    r->bands = x->dim[bands] > 0 ? (uint32_t) x->dim[bands] : 80;
    const char *feature = onnx_about_meta(&r->net->about, "feature");
    if (feature && *feature)
        return err_set(r->err, RILL_UNSUPPORTED,
                       "%.160s: its features are those of %.40s; fbank features are known",
                       r->net->name, feature);
    return RILL_OK;
}

static int64_t last_dim(const struct onnx_port *p)
{
    return p->rank > 0 ? p->dim[p->rank - 1] : -1;
}

/* Scores in a frame, of which NeMo's metadata leave out the blank. */
static rill_status vocabulary_read(struct recogniser *r)
{
    TRY(recogniser_number(r, "vocab_size", 1, WIDTH_MAX, &r->n_tokens));
    r->n_tokens += r->kind->chunk_read == nemo_chunk;
    return RILL_OK;
}

/* Numbers in a frame at a port of encoder or joiner. */
static int64_t frame_dim(const struct recogniser *r, const struct onnx_port *p)
{
    return r->kind->is_recurrent ? (p->rank == 3 ? p->dim[1] : -1) : last_dim(p);
}

static rill_status parts_check(const struct recogniser *r)
{
    const struct role_file *j = &r->file[ROLE_JOINER], *d = &r->file[ROLE_DECODER];
    if (j->about.n_in != 2 || j->about.n_out != 1)
        return err_set(r->err, RILL_INVALID,
                       "%.160s has %u inputs and %u outputs; a joiner has encoder_out and "
                       "decoder_out in, and scores out",
                       j->name, j->about.n_in, j->about.n_out);
    if (!r->kind->is_recurrent && (d->about.n_in != 1 || d->about.n_out != 1))
        return err_set(r->err, RILL_INVALID,
                       "%.160s has %u inputs and %u outputs; a stateless decoder has tokens in, "
                       "and one vector out",
                       d->name, d->about.n_in, d->about.n_out);
    if (r->kind->is_recurrent && (d->about.n_in < 3 || d->about.n_in != d->about.n_out))
        return err_set(r->err, RILL_INVALID,
                       "%.160s has %u inputs and %u outputs; the decoder of a %s has a token, a "
                       "length and states in, and a vector, a length and states out",
                       d->name, d->about.n_in, d->about.n_out, r->kind->people);
    return RILL_OK;
}

static rill_status joiner_sizes(struct recogniser *r)
{
    const struct role_file *j = &r->file[ROLE_JOINER];
    TRY(parts_check(r));
    bool swapped = !strncmp(j->about.in[0].name, "decoder", 7);
    int64_t width = frame_dim(r, &j->about.in[swapped]),
            given = frame_dim(r, &r->net->about.out[0]);
    int64_t n = last_dim(&j->about.out[0]);
    width = width > 0 ? width : given;
    if (n < 1 && r->kind->is_recurrent) {
        TRY(vocabulary_read(r));
        n = r->n_tokens;
    }
    if (width < 1 || width > WIDTH_MAX || n < 1 || n > WIDTH_MAX)
        return err_set(r->err, RILL_INVALID,
                       "%.160s does not say how many numbers it takes and gives", j->name);
    if (given > 0 && given != width)
        return err_set(r->err, RILL_INVALID,
                       "%.160s takes frames of %lld numbers, and %.160s gives %lld: they are not "
                       "of one model",
                       j->name, (long long) width, r->net->name, (long long) given);
    r->width = (uint32_t) width;
    r->n_tokens = (uint32_t) n;
    return RILL_OK;
}

static rill_status ctc_sizes(struct recogniser *r)
{
    int64_t n = last_dim(&r->net->about.out[0]);
    if (n < 1)
        TRY(vocabulary_read(r));
    else if (n > WIDTH_MAX)
        return err_set(r->err, RILL_INVALID, "%.160s: %lld scores in a frame; at most %d",
                       r->net->name, (long long) n, WIDTH_MAX);
    else
        r->n_tokens = (uint32_t) n;
    r->width = r->n_tokens;
    return RILL_OK;
}

rill_status recogniser_kind_find(struct recogniser *r)
{
    TRY(kind_find(r));
    TRY(ports_check(r));
    TRY(r->kind->check(r));
    TRY(r->kind->chunk_read(r));
    r->factor = 4;
    if (onnx_about_meta(&r->net->about, "subsampling_factor"))
        TRY(recogniser_number(r, "subsampling_factor", 1, 64, &r->factor));
    TRY(features_check(r));
    return r->is_ctc ? ctc_sizes(r) : joiner_sizes(r);
}
