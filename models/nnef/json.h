/* SPDX-License-Identifier: MIT */
/* json.h - the JSON files beside a text (RFC 8259): each is read once, what is wanted of it is
 * taken. */
#ifndef RILL_MODELS_NNEF_JSON_H
#define RILL_MODELS_NNEF_JSON_H
#include "models/nnef/build.h"

#include <jansson.h>

/* A list that was taken already. */
struct json_list {
    const json_t *of;
    struct val v;
    struct json_list *next;
};

struct json {
    const char *file;
    json_t *root;
    struct json_list *taken;
    struct json *next;
};

/* Those of one text, until it is read. */
struct resources {
    struct arena arena;
    struct json *files;
    size_t bytes;                /* of all files */
    struct weight_file *weights; /* weights.c's: the .npz files of the folder */
    uint64_t weight_bytes;       /* of their arrays */
    bool has_weights;            /* those files were looked for */
};

/* The file, of the text's folder; it lives in r. */
rill_status json_open(const struct call *c, struct resources *r, const char *file,
                      struct json **ret);
/* "$.name.name[3]" from the root on; NULL: there is none. */
const json_t *json_find(const struct json *j, const char *key);
/* A number, a text, true, false or a list of such, in the arena of the graph; an object and null
 * are NONE. */
rill_status json_take(const struct call *c, struct resources *r, struct json *j, const json_t *at,
                      struct val *ret);
void resources_drop(struct resources *r);
#endif
