/* SPDX-License-Identifier: MIT */
/* json.h - whole numbers of a JSON object's own keys; other values are skipped. */
#ifndef RILL_MODELS_JSON_H
#define RILL_MODELS_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_found {
    JSON_THERE,
    JSON_MISSING,
    JSON_OTHER,    /* its value is no whole number of 0 to 2^32 - 2 */
    JSON_MALFORMED /* no object, as far as it was read */
};

enum json_found json_whole(const char *text, size_t n, const char *key, uint32_t *ret);
#endif
