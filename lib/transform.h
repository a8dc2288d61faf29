/* SPDX-License-Identifier: MIT */
/* transform.h - what the caller wants done to a model between reading and typing it.
 *
 * Assertions come first (before reading), then --set pairs, then transforms, each typed before the
 * next. */
#ifndef RILL_LIB_TRANSFORM_H
#define RILL_LIB_TRANSFORM_H
#include "lib/model.h"
#include "models/folder.h"

/* The table of transforms, for help texts; false past the end. */
struct transform_help {
    const char *name, *form, *text;
};
bool transform_at(unsigned i, struct transform_help *ret);

/* Makes the simplifier assume opts->asserts. opts may be NULL. */
rill_status model_assert(rill_model *m, const rill_model_opts *opts, rill_error *reterr);

/* Takes m->mgraph through opts (NULL: nothing) into m->typed, with m->stream and m->transforms,
 * and m->pulse and m->recurrent where a transform says them. guess_time: the time symbol is guessed
 * by name where opts and transforms do not say. folder: where patches read tensors; may be NULL. */
rill_status model_transform_and_type(rill_model *m, const rill_model_opts *opts, bool guess_time,
                                     struct folder *folder, rill_error *reterr);
#endif
