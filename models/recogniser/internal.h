/* SPDX-License-Identifier: MIT */
/* internal.h - one folder of a recogniser while it is read. */
#ifndef RILL_MODELS_RECOGNISER_INTERNAL_H
#define RILL_MODELS_RECOGNISER_INTERNAL_H
#include "models/onnx/describe.h"
#include "models/recogniser/recogniser.h"

/* What the files of a folder are for. */
enum role { ROLE_ENCODER, ROLE_DECODER, ROLE_JOINER, ROLE_CTC, N_ROLES };

struct role_file {
    const char *name;  /* NULL: there is none */
    const char *other; /* one that would have done as well; NULL: none */
    const char *form;  /* f32, int8, fp16 */
    struct onnx_about about;
};

struct recogniser_kind;

struct recogniser {
    struct folder *folder;
    struct arena *arena;
    rill_error *err;
    const char **names; /* in the folder */
    size_t n_names;
    const char *tokens_name;
    struct model_conf conf; /* the folder's own */
    struct role_file file[N_ROLES];
    bool is_ctc;
    const struct role_file *net; /* the encoder, or the one network */
    const struct recogniser_kind *kind;
    uint32_t frames, shift; /* of features: in a chunk, from one chunk to the next */
    uint32_t factor;        /* frames of features for one of the network */
    uint32_t bands;         /* numbers in a frame of features */
    uint32_t width;         /* numbers in a frame that the network gives */
    uint32_t n_tokens;      /* scores in a frame */
    bool has_pieces;        /* bpe.vocab is there */
    bool has_marks;         /* tokens say where words begin */
};

/* How networks of one family are run. */
struct recogniser_kind {
    const char *model_type; /* as the metadata have it */
    bool is_ctc;
    bool is_recurrent;  /* its decoder has states; frames stand on the last axis of encoder and
                           joiner */
    const char *people; /* for people */
    rill_status (*chunk_read)(struct recogniser *r);       /* frames and shift */
    rill_status (*check)(const struct recogniser *r);      /* inputs and outputs */
    const char *(*scan_write)(const struct recogniser *r); /* statements: chunks to frames */
    int features_axis;    /* of the first input: that of the bands; 0: the last */
    const char *pcm;      /* what features are made of */
    const char *features; /* options of rill_fbank, "" or ", ..." */
};

/* Chooses the files by their names and reads what they say. */
rill_status recogniser_files(struct recogniser *r);

/* Which family it is, by what its network says; then sizes. */
rill_status recogniser_kind_find(struct recogniser *r);

/* A number of the network's metadata. */
rill_status recogniser_number(const struct recogniser *r, const char *key, uint32_t least,
                              uint32_t most, uint32_t *ret);

/* The texts. NULL: out of memory. */
const char *recogniser_graph(const struct recogniser *r);
const char *recogniser_conf(const struct recogniser *r);
#endif
