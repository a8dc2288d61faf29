/* SPDX-License-Identifier: MIT */
/* conf.h - model.conf: what a model folder says about itself, as INI.
 *
 *   [model]                 task, sample_rate, licence, summary,
 *                           overload = auto | bypass | skip | shed,
 *                           budget_ms = 10
 *                           recurrent_weights = auto | f32 | i16 (docs/transforms.md)
 *                           first_pulse = whole | short | FRAMES
 *   [input.NAME]
 *   [output.NAME]           kind = audio | vad | keyword | ctc | transducer | attention | tensor,
 * and how it is read (docs/sinks.md) [options]               numbers, true or false, by the names
 * that graph.nnef asks for [vad]                   threshold, release, hangover_ms [recogniser]
 * encoder, decoder, joiner, network, tokens, precision (docs/sinks.md) [archive.FILE]          url,
 * sha256, bytes, from: a .tar, .tar.gz or .tar.bz2 of weights [weights.FILE]          url, sha256,
 * bytes, from; or archive, member, sha256, bytes */
#ifndef RILL_MODELS_CONF_H
#define RILL_MODELS_CONF_H
#include "engine/base/arena.h"
#include "engine/base/err.h"

#include <stdbool.h>

#define CONF_WEIGHTS_MAX 16
#define CONF_ARCHIVES_MAX 4
#define CONF_OPTIONS_MAX 32
#define CONF_UNSET UINT32_MAX /* hangover_ms of an output that does not say it */
#define CONF_KEYS_MAX 96

/* Lines around what a reader found out itself, before the text of the folder, which may say the
 * same keys. */
#define CONF_FOUND "# found out"
#define CONF_OWN "# said by model.conf"

/* The keys that the sections of a struct have said, by their places in the table of keys. */
struct conf_said {
    uint32_t keys[CONF_KEYS_MAX / 32];
};

struct conf_port {
    struct conf_said said; /* stands first, as in the others */
    const char *name;
    bool is_input;
    rill_port_kind kind;
    rill_sink_opts sink;     /* of outputs; kind and tokens are the caller's to fill */
    const char *tokens_file; /* NULL: none */
    /* NULL: none */
    const char *decoder_file, *joiner_file, *hotwords_file, *pieces_file, *lm_file, *adapter_file,
        *cross_kv_file;
    uint32_t late_frames; /* by which the network gives them later than its graph shows */
};

/* A number that the text of the pipeline asks for by its name. */
struct conf_option {
    const char *name;
    double value;
    bool is_truth; /* true or false, 1 or 0 */
    bool is_asked; /* set by who reads the text */
};

/* A file that lies beside graph.nnef once it has been fetched. */
struct conf_weights {
    struct conf_said said;
    const char *file;
    const char *url; /* https */
    uint8_t sha256[32];
    uint64_t bytes;       /* 0: not known */
    uint64_t about_bytes; /* where bytes are not known; twice as many are taken at most */
    const char *from;     /* where it lies in a folder of many models; NULL: name/file */
    const char *archive;  /* the [archive.FILE] that it is a member of; NULL: a file of its own */
    const char *member;   /* its name there; NULL: file */
};

/* What a transform or model.conf wants the weights of recurrent cells to be. */
enum recurrent_weights { RECURRENT_ASIS, RECURRENT_F32, RECURRENT_I16 };
/* The first pulse is like the others, or as much shorter as makes outputs come earlier. */
#define FIRST_PULSE_WHOLE 0
#define FIRST_PULSE_SHORT UINT32_MAX

/* Of a recogniser's folder without graph.nnef: files and form that are taken where there are more;
 * NULL: not said. */
struct conf_recogniser {
    const char *encoder, *decoder, *joiner, *network, *tokens;
    const char *precision; /* f32, int8, fp16 */
};

struct model_conf {
    struct conf_said said;
    rill_model_info info;    /* name and sha256 are the caller's to fill */
    struct conf_port *ports; /* as many as there are sections; they live as strings do */
    struct conf_weights weights[CONF_WEIGHTS_MAX];
    struct conf_weights archives[CONF_ARCHIVES_MAX]; /* fetched for their members, not kept */
    struct conf_option options[CONF_OPTIONS_MAX];
    uint32_t n_ports, n_weights, n_archives, n_options, room_ports;
    uint32_t threads;    /* that share a step of it at most; 0: not said */
    uint32_t budget_ms;  /* how long a pulse may last that nobody asks for; 0: not said */
    uint32_t latency_ms; /* how late outputs may be, the pulse with it; 0: not said */
    uint32_t pulse;      /* frames of a pulse that nobody asks for; 0: chosen */
    enum recurrent_weights recurrent_weights;
    uint32_t first_pulse; /* frames of the first pulse, or one of these */
    struct conf_recogniser recogniser;
};

/* text is n bytes. Strings live in a. An unknown key, one that is given twice, a bad value, control
 * bytes and bytes that would make a line vanish are refused with file and line. */
rill_status model_conf_parse(struct model_conf *ret, struct arena *a, const char *file,
                             const char *text, size_t n, rill_error *reterr);

/* The archive that w is a member of; NULL: it is a file of its own. */
const struct conf_weights *model_conf_archive(const struct model_conf *c,
                                              const struct conf_weights *w);

/* What holds where there is no model.conf. */
void model_conf_default(struct model_conf *ret);
#endif
