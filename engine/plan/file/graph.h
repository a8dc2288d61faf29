/* SPDX-License-Identifier: MIT */
/* graph.h - a graph of known sizes as a compiled file keeps it: ops by name with the attributes of
 * their tables, wires with types and sizes, constants by place. What is read is believed only after
 * it was checked: order and writers of wires, arity, attributes, and that every node makes what its
 * wires say. */
#ifndef RILL_ENGINE_PLAN_FILE_GRAPH_H
#define RILL_ENGINE_PLAN_FILE_GRAPH_H
#include "engine/graph/op.h"
#include "engine/plan/plan.h"
#include "engine/plan/file/record.h"

#define PLANFILE_ALIGN_BYTES 64

/* Appends n bytes to data at a multiple of PLANFILE_ALIGN_BYTES; returns where. */
size_t data_add(struct record *data, const void *bytes, size_t n);

/* Large constants of numbers that address nothing go to data, all else to `to`; of those that all
 * steps of p (the plan of g) have packed only the shape is kept. UNSUPPORTED by name: a size is not
 * known. */
rill_status planfile_graph_write(struct record *to, struct record *data, const struct graph *g,
                                 const struct plan *p, rill_error *reterr);

/* The blocks that p packed, and what plan_from_sgraph wants to know of them: their list is made in
 * the reader's arena. */
void planfile_packs_write(struct record *to, struct record *data, const struct packs *p);
rill_status planfile_packs_read(struct record_reader *from, const unsigned char *data,
                                size_t data_bytes, struct plan_opts *ret, rill_error *reterr);

/* Where a graph is read from. Constants that lie in data stay there; data outlives the graph. */
struct graph_source {
    struct record_reader *from;
    const unsigned char *data;
    size_t data_bytes;
    /* what stands for constants that are kept in packed form only; of zeros_bytes */
    const void *zeros;
    size_t zeros_bytes;
    const struct op *(*op_find)(const char *name); /* NULL: no such op */
    struct dims *dims;
};

/* Fills ret, made in the reader's arena. MALFORMED with the reason. */
rill_status planfile_graph_read(struct graph *ret, const struct graph_source *s,
                                rill_error *reterr);
#endif
