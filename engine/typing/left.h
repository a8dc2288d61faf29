/* SPDX-License-Identifier: MIT */
/* left.h - nodes that wait for data: what is left of a graph where typing goes only so far. */
#ifndef RILL_ENGINE_TYPING_LEFT_H
#define RILL_ENGINE_TYPING_LEFT_H
#include "engine/typing/typed.h"

/* map: the wire of dst that stands for one of src; WIRE_NONE: none. */
bool left_reads(const struct graph *src, const struct node *n, const uint32_t *map);
bool left_open(const struct graph *dst, const struct node *n, const uint32_t *map);
/* Whether what fails so waits for data. */
bool left_excuses(rill_status s);
/* err NULL: what it makes has no known size. false: no memory. */
bool left_note(struct typed_left *left, uint32_t node, enum left_kind kind, const rill_error *err,
               struct arena *a);
/* The outputs of dst, and what is known. false: no memory. */
bool left_outputs(struct typed_left *left, const struct graph *src, struct graph *dst,
                  const uint32_t *map);
#endif
