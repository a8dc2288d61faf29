/* SPDX-License-Identifier: MIT */
/* parser.h - NNEF text as a tree: a document, or a bare list of statements. Nothing is evaluated
 * here. */
#ifndef RILL_MODELS_NNEF_PARSER_H
#define RILL_MODELS_NNEF_PARSER_H
#include "engine/base/arena.h"
#include "engine/base/err.h"
#include "models/nnef/lexer.h"

struct nnef_limits {
    size_t text_bytes;      /* of one text */
    unsigned depth;         /* of nested expressions */
    unsigned calls;         /* of fragments that call fragments */
    unsigned nodes;         /* made from one text, bodies included */
    uint64_t data_bytes;    /* of one tensor file */
    uint64_t literal_bytes; /* of all constants that no file backs, together */
};

extern const struct nnef_limits nnef_limits_default;

enum nnef_expr_kind {
    NNEF_EXPR_INT,
    NNEF_EXPR_REAL,
    NNEF_EXPR_BOOL,
    NNEF_EXPR_TEXT,
    NNEF_EXPR_NAME,
    NNEF_EXPR_LIST,   /* [a, b] */
    NNEF_EXPR_TUPLE,  /* (a, b) */
    NNEF_EXPR_UNARY,  /* text: the sign; part[0] */
    NNEF_EXPR_BINARY, /* text: the sign; part[0], part[1] */
    NNEF_EXPR_CHOICE, /* part[0] if part[1] else part[2] */
    NNEF_EXPR_INDEX,  /* part[0] [ part[1] ], or part[0] [ part[1] : part[2] ] */
    NNEF_EXPR_CALL,   /* text: the name; type: in <> or NULL; part, arg_name (NULL: by place) */
    NNEF_EXPR_EACH    /* [for n in part[0], .. yield part[i]]: i lists, named by arg_name; behind
                       * it a condition may follow */
};

struct nnef_expr {
    enum nnef_expr_kind kind;
    struct nnef_pos pos;
    int64_t i;
    double real;
    const char *text, *type;
    struct nnef_expr **part;
    const char **arg_name;
    uint32_t n_part, cap_part;
    uint32_t height; /* of the tree below */
};

struct nnef_statement {
    struct nnef_expr *left, *right; /* left: a name, or a tuple or list of names */
};

struct nnef_param {
    const char *name;
    struct nnef_pos pos;
    struct nnef_expr *init; /* default, or NULL */
};

struct nnef_fragment {
    const char *name;
    struct nnef_pos pos;
    struct nnef_param *params, *results;
    struct nnef_statement *body;
    uint32_t n_params, n_results, n_body;
    uint32_t cap_params, cap_results, cap_body;
    struct nnef_fragment *next;
};

struct nnef_extension {
    const char *name, *text; /* text: the rest up to the semicolon */
    struct nnef_pos pos;
    struct nnef_extension *next;
};

struct nnef_document {
    const char *file; /* for messages */
    const char *version;
    struct nnef_extension *extensions; /* in order */
    struct nnef_fragment *fragments;   /* in order */
    struct nnef_fragment graph;        /* params without types */
};

/* Everything made lives in a. file is the name that messages begin with. */
rill_status nnef_parse(struct nnef_document *ret, struct arena *a, const char *file,
                       const char *text, size_t n, const struct nnef_limits *limits,
                       rill_error *reterr);

/* Statements only, until the end of the text: ret->body. */
rill_status nnef_parse_statements(struct nnef_fragment *ret, struct arena *a, const char *file,
                                  const char *text, size_t n, const struct nnef_limits *limits,
                                  rill_error *reterr);

/* Fragments only (no version, no graph): *ret is the list in order. */
rill_status nnef_parse_fragments(struct nnef_fragment **ret, struct arena *a, const char *file,
                                 const char *text, size_t n, const struct nnef_limits *limits,
                                 rill_error *reterr);

/* "x, size, before = 0": parameters without types, until the end of the text: ret->params. */
rill_status nnef_parse_signature(struct nnef_fragment *ret, struct arena *a, const char *file,
                                 const char *text, rill_error *reterr);
#endif
