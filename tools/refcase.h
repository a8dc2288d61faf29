/* SPDX-License-Identifier: MIT */
/* refcase.h - a stored reference run: CASE.json with raw tensors beside it. Tensors of other types
 * than f32 are held as f32 and, of whole numbers, what is left of each. */
#ifndef TOOLS_REFCASE_H
#define TOOLS_REFCASE_H
#include "check/step_model.h"

#include <jansson.h>

struct ref_tensor {
    const char *role, *name; /* borrowed from the JSON */
    int64_t chunk;           /* of *_at roles; -1 otherwise */
    bool per_chunk;
    int rank;
    int64_t dim[RANK_MAX]; /* of one chunk */
    int64_t n_chunks;
    size_t chunk_floats;
    double absmax, tolerance;
    float *data, *rest; /* rest: NULL of f32; number i is data[i] + rest[i] */
};

struct refcase {
    json_t *json;
    char *folder; /* of the case file, with a slash at the end */
    char *root;   /* of the models: model paths are relative to it */
    const char *name, *audio;
    const char *models[4]; /* paths beneath root */
    unsigned n_models;
    int64_t sample_rate, n_chunks;
    struct step_decl decl;
    struct ref_tensor *tensors; /* with room for one of each input, too */
    unsigned n_tensors;
};

/* Reads the case and its tensors. Errors name what lies beside path; path itself the caller
 * names. */
rill_status refcase_read(struct refcase *ret, const char *path, rill_error *reterr);
void refcase_drop(struct refcase *c);
const struct ref_tensor *refcase_find(const struct refcase *c, const char *role, const char *name);
#endif
