/* SPDX-License-Identifier: MIT */
/* sized.h - structs of rill.h that say their own length first, so that callers and libraries of
 * different age understand each other (docs/api.md, "How a struct grows"). */
#ifndef RILL_ENGINE_BASE_SIZED_H
#define RILL_ENGINE_BASE_SIZED_H
#include "engine/base/err.h"

#define SIZED_BYTES_MAX 4096 /* no version of any is longer */

struct sized {
    const char *name;
    uint32_t first_bytes; /* of the first version of this soname; no caller's is shorter */
    uint32_t bytes;       /* of this version */
};

extern const struct sized sized_model_opts, sized_plan_opts, sized_pool_opts, sized_sink_opts,
    sized_model_info, sized_plan_info, sized_port, sized_shape, sized_alignment, sized_step_time,
    sized_event;

/* INVALID: the size that the caller's struct has is none. Real-time safe. */
rill_status sized_check(const struct sized *t, const void *callers, rill_error *err);

/* The caller's struct as one of this version: what an older one lacks is 0. INVALID: its size is
 * none, or a newer one has something that is not 0 where this version has nothing. Real-time safe.
 */
rill_status sized_take(const struct sized *t, void *ret, const void *callers, rill_error *err);

/* A struct of this version into the caller's, whose struct_bytes stays: what an older one lacks is
 * left out, what a newer one has more is 0. INVALID, and nothing is written: its size is none.
 * Real-time safe. */
rill_status sized_give(const struct sized *t, void *callers, const void *from, rill_error *err);

/* An array of the caller's, of which the first one's struct_bytes is that of all. */
struct sized_list {
    const struct sized *type;
    unsigned char *first;
    uint32_t bytes; /* of each */
};

/* INVALID as sized_check. Real-time safe, both. */
rill_status sized_list(struct sized_list *ret, const struct sized *t, void *callers);
void sized_list_give(const struct sized_list *l, uint32_t i, const void *from);
#endif
