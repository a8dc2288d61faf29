/* SPDX-License-Identifier: MIT */
/* model_file.h - the part of a compiled file that says what model.conf said. */
#ifndef RILL_LIB_MODEL_FILE_H
#define RILL_LIB_MODEL_FILE_H
#include "lib/model.h"
#include "engine/plan/file/planfile.h"

/* info and ports of m. n_in and n_out: ports of the graph. */
void model_file_write(struct record *to, const rill_model *m, uint32_t n_in, uint32_t n_out);

/* Fills m->info, m->inputs, m->outputs and takes f over: m->compiled. On failure f stays the
 * caller's. */
rill_status model_file_read(rill_model *m, struct planfile *f, rill_error *reterr);
#endif
