/* SPDX-License-Identifier: MIT */
/* json.h - the JSON files beside a text (RFC 8259): each is read and checked once, what is wanted
 * of it is taken. */
#ifndef RILL_MODELS_NNEF_JSON_H
#define RILL_MODELS_NNEF_JSON_H
#include "models/nnef/build.h"

/* A value: where it begins, and the place behind it and all that it holds. Within an object keys
 * and values take turns. */
struct json_place {
    uint32_t at, next;
};

/* A list that was taken already. */
struct json_list {
    uint32_t place;
    struct val v;
    struct json_list *next;
};

struct json {
    const char *file, *text;
    struct json_place *places;
    struct json_list *taken;
    struct json *next;
};

/* Those of one text, until it is read. */
struct resources {
    struct arena arena;
    struct json *files;
};

/* The file, of the text's folder; it lives in r. */
rill_status json_open(const struct call *c, struct resources *r, const char *file,
                      struct json **ret);
/* "$.name.name[3]" from the root on: *ret_place, and whether there is one. */
bool json_find(const struct json *j, const char *key, uint32_t *ret_place);
/* A number, a text, true, false or a list of such, in the arena of the graph; an object and null
 * are NONE. */
rill_status json_take(const struct call *c, struct resources *r, struct json *j, uint32_t place,
                      struct val *ret);
#endif
