/* SPDX-License-Identifier: MIT */
#include "models/recogniser/moonshine.h"

#include <jansson.h>
#include <stddef.h>
#include <string.h>

#define CONFIG_BYTES_MAX 65536
#define TOKENIZER_BYTES_MAX ((uint64_t) 16 << 20)
#define NETWORK_BYTES_MAX ((uint64_t) 4 << 30)
#define FRAMES_A_CHUNK 8 /* so few give each convolution the four frames that it keeps */
#define STRIDES 4        /* of both convolutions */

enum part { FRONTEND, ENCODER, ADAPTER, CROSS_KV, DECODER_KV, N_PARTS };
static const char *const part_names[N_PARTS] = { "frontend", "encoder", "adapter", "cross_kv",
                                                 "decoder_kv" };

struct config {
    uint32_t encoder_dim, decoder_dim, depth, nheads, head_dim, vocab_size, bos_id, eos_id,
        frame_len, d_model_frontend, c1, max_seq_len;
};

struct moonshine {
    const struct recogniser *r;
    struct config c;
    const char *file[N_PARTS];
    struct onnx_about about[N_PARTS];
};

static bool is_named(const struct recogniser *r, const char *name)
{
    for (size_t k = 0; k < r->n_names; k++)
        if (!strcmp(r->names[k], name))
            return true;
    return false;
}

bool moonshine_is(const struct recogniser *r)
{
    static const char *const telling[] = { MOONSHINE_CONFIG, "cross_kv.onnx", "cross_kv.ort" };
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++)
        if (is_named(r, telling[i]))
            return true;
    return false;
}

/* ---- streaming_config.json ---- */

#define KEY(name) #name, offsetof(struct config, name)
static const struct config_key {
    const char *name;
    size_t offset;
    uint32_t least, most, otherwise; /* otherwise: where it is not there; 0: it must be */
} config_keys[] = {
    { KEY(encoder_dim), 1, 16384, 0 }, { KEY(decoder_dim), 1, 16384, 0 },
    { KEY(depth), 1, 256, 0 },         { KEY(nheads), 1, 256, 0 },
    { KEY(head_dim), 1, 1024, 0 },     { KEY(vocab_size), 2, 65536, 0 },
    { KEY(bos_id), 0, 65535, 0 },      { KEY(eos_id), 0, 65535, 0 },
    { KEY(frame_len), 2, 4096, 0 },    { KEY(d_model_frontend), 1, 16384, 0 },
    { KEY(c1), 1, 65536, 0 },          { KEY(max_seq_len), 4, 4096, 448 },
};
#define N_CONFIG_KEYS (sizeof config_keys / sizeof *config_keys)

static rill_status key_read(const struct recogniser *r, const struct config_key *k,
                            const json_t *config, uint32_t *ret)
{
    const json_t *v = json_object_get(config, k->name);
    const json_int_t n = json_integer_value(v);
    if (!v && !k->otherwise)
        return err_set(r->err, RILL_INVALID,
                       MOONSHINE_CONFIG " has no '%s', which that of a streaming Moonshine has",
                       k->name);
    if (v && (!json_is_integer(v) || n < k->least || n > k->most))
        return err_set(r->err, RILL_INVALID,
                       MOONSHINE_CONFIG ": '%s' is no whole number from %u to %u", k->name,
                       k->least, k->most);
    *ret = v ? (uint32_t) n : k->otherwise;
    return RILL_OK;
}

static rill_status keys_read(const struct recogniser *r, const char *text, size_t n,
                             struct config *ret)
{
    json_error_t why;
    json_t *config = json_loadb(text, n, 0, &why);
    rill_status s = RILL_OK;
    if (!config)
        return err_set(r->err, RILL_MALFORMED, MOONSHINE_CONFIG ":%d:%d: %s", why.line, why.column,
                       why.text);
    if (!json_is_object(config))
        s = err_set(r->err, RILL_MALFORMED, MOONSHINE_CONFIG " is no object of JSON");
    for (size_t i = 0; s == RILL_OK && i < N_CONFIG_KEYS; i++)
        s = key_read(r, &config_keys[i], config,
                     (uint32_t *) ((char *) ret + config_keys[i].offset));
    json_decref(config);
    return s;
}

static rill_status config_read(struct moonshine *m)
{
    const struct recogniser *r = m->r;
    const uint8_t *text;
    size_t n;
    if (!is_named(r, MOONSHINE_CONFIG))
        return err_set(r->err, RILL_IO,
                       MOONSHINE_CONFIG " is missing; it lies beside frontend.onnx, encoder.onnx, "
                                        "adapter.onnx, cross_kv.onnx, decoder_kv.onnx and "
                                        "tokenizer.bin of a streaming Moonshine");
    TRY(folder_peek(r->folder, MOONSHINE_CONFIG, r->arena, CONFIG_BYTES_MAX, &text, &n, r->err));
    TRY(keys_read(r, (const char *) text, n, &m->c));
    return m->c.bos_id < m->c.vocab_size && m->c.eos_id < m->c.vocab_size
        ? RILL_OK
        : err_set(r->err, RILL_INVALID,
                  MOONSHINE_CONFIG ": bos_id is %u and eos_id %u, of a vocab_size of %u",
                  m->c.bos_id, m->c.eos_id, m->c.vocab_size);
}

/* ---- the networks ---- */

static rill_status part_missing(const struct recogniser *r, const char *name)
{
    const char *ort = arena_printf(r->arena, "%s.ort", name);
    if (ort && is_named(r, ort))
        return err_set(
            r->err, RILL_UNSUPPORTED,
            "%s is in the format of ONNX Runtime's own, which is not read; %s.onnx is: "
            "`python -m moonshine_voice.lora --export` writes the networks as .onnx from "
            "the publisher's checkpoint",
            ort, name);
    return err_set(r->err, RILL_IO,
                   "%s.onnx is missing; a streaming Moonshine is frontend.onnx, encoder.onnx, "
                   "adapter.onnx, cross_kv.onnx, decoder_kv.onnx, " MOONSHINE_CONFIG
                   " and tokenizer.bin",
                   name);
}

/* The file in f32, or in 8 bits where that is asked for or is the only one. */
static const char *part_file(const struct recogniser *r, const char *name)
{
    const char *wanted = r->conf.recogniser.precision;
    const bool is_int8 = wanted && !strcmp(wanted, "int8");
    for (int i = 0; i < 3; i++) {
        const int form = is_int8 ? (i + 1) % 3 : i;
        const char *file = form == 0 ? arena_printf(r->arena, "%s.onnx", name)
            : form == 1              ? arena_printf(r->arena, "%s_int8.onnx", name)
                                     : arena_printf(r->arena, "%s.int8.onnx", name);
        if (file && is_named(r, file))
            return file;
    }
    return NULL;
}

static rill_status part_describe(struct moonshine *m, enum part k)
{
    const struct recogniser *r = m->r;
    struct arena bytes = { 0 };
    const uint8_t *data;
    size_t n;
    if (!(m->file[k] = part_file(r, part_names[k])))
        return part_missing(r, part_names[k]);
    rill_status s =
        folder_peek(r->folder, m->file[k], &bytes, NETWORK_BYTES_MAX, &data, &n, r->err);
    if (s == RILL_OK && (s = onnx_describe(&m->about[k], r->arena, data, n, r->err)) != RILL_OK)
        err_prefix(r->err, s, "%.160s", m->file[k]);
    arena_drop(&bytes);
    return s;
}

/* What the config says of an axis of a port. */
#define SIZE(name) #name, offsetof(struct config, name)
static const struct port_size {
    enum part part;
    const char *port;
    bool is_input;
    int rank, axis;
    const char *key; /* NULL: nothing */
    size_t offset;
} port_sizes[] = {
    { FRONTEND, "audio_chunk", true, 2, 0, NULL, 0 },
    { FRONTEND, "sample_buffer", true, 2, 0, NULL, 0 },
    { FRONTEND, "sample_len", true, 1, 0, NULL, 0 },
    { FRONTEND, "conv1_buffer", true, 3, 1, SIZE(d_model_frontend) },
    { FRONTEND, "conv2_buffer", true, 3, 1, SIZE(c1) },
    { FRONTEND, "frame_count", true, 1, 0, NULL, 0 },
    { FRONTEND, "features", false, 3, 2, SIZE(encoder_dim) },
    { FRONTEND, "conv1_buffer_out", false, 3, 1, SIZE(d_model_frontend) },
    { FRONTEND, "conv2_buffer_out", false, 3, 1, SIZE(c1) },
    { ENCODER, "features", true, 3, 2, SIZE(encoder_dim) },
    { ENCODER, "encoded", false, 3, 2, SIZE(encoder_dim) },
    { ADAPTER, "encoded", true, 3, 2, SIZE(encoder_dim) },
    { ADAPTER, "pos_offset", true, 1, 0, NULL, 0 },
    { ADAPTER, "memory", false, 3, 2, SIZE(decoder_dim) },
    { CROSS_KV, "memory", true, 3, 2, SIZE(decoder_dim) },
    { CROSS_KV, "k_cross", false, 5, 0, SIZE(depth) },
    { CROSS_KV, "k_cross", false, 5, 2, SIZE(nheads) },
    { CROSS_KV, "k_cross", false, 5, 4, SIZE(head_dim) },
    { CROSS_KV, "v_cross", false, 5, 0, SIZE(depth) },
    { DECODER_KV, "token", true, 2, 0, NULL, 0 },
    { DECODER_KV, "k_self", true, 5, 0, SIZE(depth) },
    { DECODER_KV, "k_self", true, 5, 2, SIZE(nheads) },
    { DECODER_KV, "k_self", true, 5, 4, SIZE(head_dim) },
    { DECODER_KV, "v_self", true, 5, 0, SIZE(depth) },
    { DECODER_KV, "out_k_cross", true, 5, 4, SIZE(head_dim) },
    { DECODER_KV, "out_v_cross", true, 5, 4, SIZE(head_dim) },
    { DECODER_KV, "logits", false, 3, 2, SIZE(vocab_size) },
    { DECODER_KV, "out_k_self", false, 5, 0, NULL, 0 },
    { DECODER_KV, "out_v_self", false, 5, 0, NULL, 0 },
};

static const struct onnx_port *port_of(const struct onnx_about *f, const struct port_size *p)
{
    const struct onnx_port *list = p->is_input ? f->in : f->out;
    const uint32_t n = p->is_input ? f->n_in : f->n_out;
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, p->port))
            return &list[i];
    return NULL;
}

static rill_status size_check(const struct moonshine *m, const struct port_size *p)
{
    const struct onnx_port *port = port_of(&m->about[p->part], p);
    const char *file = m->file[p->part];
    uint32_t wanted;
    if (!port)
        return err_set(m->r->err, RILL_INVALID,
                       "%.160s has no %s '%s', which %s.onnx of a streaming Moonshine has", file,
                       p->is_input ? "input" : "output", p->port, part_names[p->part]);
    if (port->rank >= 0 && port->rank != p->rank)
        return err_set(m->r->err, RILL_INVALID, "%.160s: '%s' has %d axes; expected %d", file,
                       p->port, port->rank, p->rank);
    if (!p->key || port->rank < 0 || port->dim[p->axis] < 0)
        return RILL_OK;
    memcpy(&wanted, (const char *) &m->c + p->offset, sizeof wanted);
    return port->dim[p->axis] == wanted
        ? RILL_OK
        : err_set(m->r->err, RILL_INVALID,
                  "%.160s: axis %d of '%s' is %lld, and " MOONSHINE_CONFIG
                  " says %s %u: they are not of one model",
                  file, p->axis, p->port, (long long) port->dim[p->axis], p->key, wanted);
}

static rill_status parts_read(struct moonshine *m)
{
    for (int k = 0; k < N_PARTS; k++)
        TRY(part_describe(m, (enum part) k));
    for (size_t i = 0; i < sizeof port_sizes / sizeof *port_sizes; i++)
        TRY(size_check(m, &port_sizes[i]));
    return RILL_OK;
}

/* ---- the texts ---- */

/* A chunk is a whole number of frames, so that no samples wait for the next one. */
static const char *graph_write(const struct moonshine *m)
{
    const uint32_t chunk = FRAMES_A_CHUNK * m->c.frame_len;
    return arena_printf(
        m->r->arena,
        "version 1.0;\n"
        "graph recogniser(pcm) -> (encoded)\n"
        "{\n"
        "    pcm = external<scalar>(shape = [S]);\n"
        "    chunks = rill_frame(pcm, size = %u, hop = %u, end = \"cover\");\n"
        "    frames = rill_onnx_scan(chunks, file = \"%s\", input = [audio_chunk], output = "
        "[features],\n"
        "        const = [(sample_buffer, 0), (sample_len, 0), (frame_count, 0)],\n"
        "        state = [(conv1_buffer, conv1_buffer_out), (conv2_buffer, conv2_buffer_out)]);\n"
        "    features = reshape(frames, shape = [1, -1, %u]);\n"
        "    heard = rill_onnx(features, file = \"%s\", input = [features], output = [encoded]);\n"
        "    encoded = reshape(heard, shape = [-1, %u]);\n"
        "}\n",
        chunk, chunk, m->file[FRONTEND], m->c.encoder_dim, m->file[ENCODER], m->c.encoder_dim);
}

static const char *conf_write(const struct moonshine *m, bool has_marks)
{
    return arena_printf(m->r->arena,
                        CONF_FOUND "\n"
                                   "[model]\n"
                                   "task = transcribe\n"
                                   "sample_rate = 16000\n"
                                   "summary = streaming Moonshine: %s, %s\n"
                                   "[input.pcm]\n"
                                   "kind = audio\n"
                                   "[output.encoded]\n"
                                   "kind = attention\n"
                                   "adapter = %s\n"
                                   "cross_kv = %s\n"
                                   "decoder = %s\n"
                                   "tokens = " MOONSHINE_TOKENS "\n"
                                   "units = %s\n"
                                   "bos = %u\n"
                                   "eos = %u\n"
                                   "blank = %u\n"
                                   "max_tokens = %u\n"
                                   "endpoint_frames = 24\n"
                                   "update_frames = 24\n",
                        m->file[ENCODER], m->file[DECODER_KV], m->file[ADAPTER], m->file[CROSS_KV],
                        m->file[DECODER_KV], has_marks ? "marks" : "chars", m->c.bos_id,
                        m->c.eos_id, m->c.eos_id, m->c.max_seq_len);
}

static rill_status tokens_read(const struct moonshine *m, const char **ret, bool *ret_marks)
{
    const struct recogniser *r = m->r;
    const uint8_t *data;
    size_t n;
    if (!is_named(r, "tokenizer.bin"))
        return err_set(
            r->err, RILL_IO,
            "tokenizer.bin is missing; the publisher's folder has it beside the networks");
    TRY(folder_peek(r->folder, "tokenizer.bin", r->arena, TOKENIZER_BYTES_MAX, &data, &n, r->err));
    return moonshine_tokens(r, data, n, m->c.vocab_size, ret, ret_marks);
}

rill_status moonshine_read(struct recogniser *r, const char **ret_graph, const char **ret_conf,
                           const char **ret_tokens)
{
    struct moonshine m = { .r = r };
    bool has_marks = false;
    TRY(config_read(&m));
    TRY(parts_read(&m));
    TRY(tokens_read(&m, ret_tokens, &has_marks));
    *ret_graph = graph_write(&m);
    *ret_conf = conf_write(&m, has_marks);
    return RILL_OK;
}
