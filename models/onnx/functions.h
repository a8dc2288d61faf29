/* SPDX-License-Identifier: MIT */
/* functions.h - calls of functions that the file itself defines are written out before anything
 * else looks at its graph: the node of a call gives way to the nodes of its function, under names
 * of their own.
 *
 * functions.c       which function a node calls, its nodes, attributes and graphs
 * function_names.c  what a name of a function stands for where it is called
 * function_opsets.c what a file has to say that is written again */
#ifndef RILL_MODELS_ONNX_FUNCTIONS_H
#define RILL_MODELS_ONNX_FUNCTIONS_H
#include "models/onnx/internal.h"

/* A function of the file. */
struct definition {
    const Onnxpb__Function *pb;
    const char *text; /* for messages */
    struct onnx_version version;
    const Onnxpb__ValueInfo **info; /* those that say a type */
    size_t n_info;
    uint64_t nodes; /* that a call of it writes, as far as they are counted */
    bool counted;
};

/* A call that is being written out. */
struct call {
    const struct call *outer; /* in whose function it stands; NULL: in none */
    const struct definition *of;
    const Onnxpb__Node *node; /* with all that it gives as it is in the model */
    const char *name;         /* in front of the names of what is its own */
    unsigned deep;
};

/* What the names of a function, or of a graph within it, stand for. */
struct names {
    const struct names *outer; /* NULL: of the function */
    struct map map;            /* name -> index of the value */
};

struct function_value {
    ProtobufCBinaryData name; /* in the model; none: an input that the call leaves out */
    enum { VALUE_GIVEN, VALUE_WANTED, VALUE_MADE } state;
};

struct functions {
    struct reader *r;
    struct arena *arena;
    struct definition *of;
    uint32_t n;
    struct map find;            /* domain, name and overload -> index of the definition */
    struct onnx_version own;    /* of the model */
    struct onnx_version newest; /* of nodes that no function has */
    struct map taken;           /* value name of the model -> the last number given behind it */
    struct function_value *value;
    uint32_t n_value, cap_value;
    uint64_t parts;      /* written so far: nodes, calls, what their graphs and attributes have */
    uint64_t data_bytes; /* of constants and attributes of calls, each time they are written */
};

/* Where a node stands. call NULL: in the model itself, whose names stay. */
struct place {
    const struct call *call;
    const struct names *names;
    unsigned deep; /* graphs around it */
};

/* ---- function_names.c ---- */

rill_status functions_no_room(const struct functions *u);
/* The name that is read as this text; data is NULL where there is no memory. */
ProtobufCBinaryData name_of_text(const struct functions *u, const char *text);

/* Takes all value names of the model itself. */
rill_status names_take(struct functions *u, const Onnxpb__Graph *g);
/* The inputs and outputs of the function have the names that the call gives. */
rill_status names_of_call(struct functions *u, const struct call *c, struct names *s);
/* A value that a node, or the graph, of s makes. */
rill_status names_define(struct functions *u, const struct call *c, struct names *s,
                         ProtobufCBinaryData name);
/* All that the graph makes. */
rill_status names_of_graph(struct functions *u, const struct call *c, const Onnxpb__Graph *g,
                           struct names *s);
/* NULL: nothing there has that name */
const struct function_value *names_find(const struct functions *u, const struct names *s,
                                        const char *name);
/* *name as it is in the model. by: who reads it. */
rill_status names_resolve(const struct functions *u, const struct place *at, const char *by,
                          ProtobufCBinaryData *name);
#endif
