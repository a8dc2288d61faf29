/* SPDX-License-Identifier: MIT */
/* writer.h - what the files of this folder share: text.c writes a graph, names.c says what its
 * wires are called, attrs.c what its attributes are, consts.c what its constants look like, forms.c
 * has the operators of the standard, dat.c tensor files. */
#ifndef RILL_MODELS_EXPORT_WRITER_H
#define RILL_MODELS_EXPORT_WRITER_H
#include "engine/graph/control.h"
#include "models/export/export.h"

#include <stdio.h>

struct weight {
    const char *label; /* of the file, without .dat */
    const struct tensor *t;
};

/* What a text has in common with those of its bodies. */
struct document {
    struct arena *arena;
    FILE *fragments; /* bodies that are written */
    struct weight *weights;
    uint32_t n_weights, cap_weights, n_bodies;
    rill_error *err;
};

/* One graph, the outermost or a body, being written. */
struct writer {
    struct document *doc;
    const struct graph *g;
    FILE *to;
    const char *prefix; /* of labels: "" or "body1-" */
    const char **name;  /* of each wire as the text writes it */
    bool *stated;       /* constants that have a statement */
    bool sizes_quoted;  /* a wire is called as a symbol is */
    bool twice;         /* the format lets a result stand twice under one name */
};

/* ---- source.c ---- */

/* What an ONNX file holds of g: where data decides its sizes, the graph that it was read as, whose
 * ports have the sizes that they have in g. Borrows from g; what is made lives in a. */
rill_status graph_as_read(struct graph *ret, const struct graph *g, struct arena *a,
                          rill_error *reterr);
/* What a wire is; where it was not typed, what the file says of it. */
struct fact fact_written(const struct graph *g, uint32_t wire);
/* What formal input i of g, a body of `of` (NULL: of none), is. Where it was not typed, a Loop says
 * it of the first two, and what goes into a state or a slice from the graph around says its type.
 */
struct fact formal_fact(const struct graph *g, unsigned i, const struct node *of,
                        const struct graph *around);
/* An output that nobody reads may lack a name: all of recurrent ops, of others those behind the
 * first but where the standard wants each. */
bool output_is_optional(const struct node *n, unsigned i);

/* ---- attrs.c ---- */

/* Attributes by name, as the row of the op has them; 0 and none where it has none of that name. */
int64_t attr_int(const struct node *n, const char *name);
float attr_float(const struct node *n, const char *name);
struct attr_ints attr_ints(const struct node *n, const char *name);
bool attr_is_default(const struct attr_spec *s, const void *at);

/* ---- names.c ---- */

/* Inputs and outputs of the outermost graph keep their names, but outputs whose name is taken
 * count. An output that is an input under its name is called as that input. */
rill_status names_make(struct writer *w, bool outermost);
/* Whether that is all a node says, of wires that are called so. */
bool node_is_port(const struct node *n, const char *const *name);
/* A word that the language takes for its own. */
bool is_keyword(const char *name);

/* ---- consts.c ---- */

/* A number that reads back as the same float; NULL: it has none, or no memory. */
const char *float_text(struct arena *a, float f);
const char *size_text(const struct writer *w, const struct dim *d); /* NULL: no memory */
/* "[1, S]" of a list of sizes or integers; NULL: not known, or too long. */
const char *sizes_text(const struct writer *w, const struct tensor *t);
/* How an operand is written: its name, or the value itself where it is short. */
const char *wire_text(const struct writer *w, uint32_t wire);
/* Writes the statement of a constant that wire_text calls by name, once; of any where named. */
rill_status const_state(struct writer *w, uint32_t wire, bool named);
/* The statement of a tensor under that name. */
rill_status tensor_state(struct writer *w, const struct tensor *t, const char *name,
                         const char *label);
/* "variable-less" constants of attributes: the name of a new statement. */
rill_status tensor_name(struct writer *w, const struct tensor *t, const char **ret);

/* ---- forms.c ---- */

/* Writes the node as an operator of the standard that reads back as it; false: there is none. */
bool form_write(const struct writer *w, const struct node *n);

/* ---- dat.c ---- */

/* NULL: elements of that type have no form there. */
const char *dat_type(enum dtype t);
#define DAT_HEAD_BYTES 128
/* Of a tensor whose type has a form; false: it is too large for one. */
bool dat_head(const struct tensor *t, uint8_t head[DAT_HEAD_BYTES]);
/* Makes the folder with the text and the weights. */
rill_status folder_write(const struct document *doc, const char *folder, const char *text,
                         size_t n);

/* ---- archive.c ---- */

bool is_archive(const char *path);
/* The same in a .tar, .tar.gz or .tgz. */
rill_status archive_make(const struct document *doc, const char *path, const char *text, size_t n);
#endif
