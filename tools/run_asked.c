/* SPDX-License-Identifier: MIT */
/* rill run: which ops a graph is to have. */
#include "engine/graph/op.h"
#include "models/onnx/reader.h"
#include "tools/run.h"

#include <stdlib.h>
#include <string.h>

/* n characters of `of`. */
static bool text_is(const char *text, const char *of, size_t n)
{
    return strlen(text) == n && !strncmp(text, of, n);
}

/* An op of the engine, or one that files have and that becomes others. */
static rill_status op_known(const char *option, const char *name, size_t n, rill_error *err)
{
    struct onnx_op_row row;
    bool known = false;
    for (unsigned i = 0; !known && op_at(i); i++)
        known = text_is(run_op_name(&(struct run_op) { op_at(i), 0 }), name, n);
    for (unsigned i = 0; !known && onnx_op_at(i, &row); i++)
        known = text_is(row.name, name, n);
    return known
        ? RILL_OK
        : err_set(err, RILL_INVALID, "%s: there is no op '%.*s' (rill inspect --ops lists them)",
                  option, n < 60 ? (int) n : 60, name);
}

/* "OP=N": how many of its characters are the op's. */
static bool op_count_read(const char *item, size_t *ret_chars, long long *ret_n)
{
    const char *equals = strchr(item, '=');
    char *end = NULL;
    *ret_chars = equals ? (size_t) (equals - item) : 0;
    *ret_n = equals ? strtoll(equals + 1, &end, 10) : -1;
    return *ret_n >= 0 && end != equals + 1 && !*end;
}

rill_status run_asked_check(const struct run_asked *a, rill_error *reterr)
{
    size_t chars;
    long long n;
    for (unsigned i = 0; i < a->op_counts.n; i++) {
        if (!op_count_read(a->op_counts.item[i], &chars, &n))
            return err_set(reterr, RILL_INVALID, "--assert-op-count takes OP=N, not '%.80s'",
                           a->op_counts.item[i]);
        TRY(op_known("--assert-op-count", a->op_counts.item[i], chars, reterr));
    }
    for (const char *at = a->only_ops; at && *at; at += strcspn(at, ","), at += *at == ',')
        TRY(op_known("--assert-only-ops", at, strcspn(at, ","), reterr));
    return RILL_OK;
}

static rill_status op_counts_check(const struct run_asked *a, const struct run_op *ops, unsigned n)
{
    size_t chars;
    long long want;
    for (unsigned i = 0; i < a->op_counts.n; i++) {
        const char *item = a->op_counts.item[i];
        unsigned have = 0;
        op_count_read(item, &chars, &want);
        for (unsigned k = 0; k < n; k++)
            if (text_is(run_op_name(&ops[k]), item, chars))
                have = ops[k].nodes;
        if (have != want) {
            printf("FAIL: %u nodes of %.*s, not %lld\n", have, (int) chars, item, want);
            return RILL_END;
        }
    }
    return RILL_OK;
}

static bool op_listed(const char *list, const char *name)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (text_is(name, at, strcspn(at, ",")))
            return true;
    return false;
}

rill_status run_asked_of(const struct run_asked *a, const struct graph *g)
{
    unsigned n;
    struct run_op *ops = run_ops(g, &n);
    rill_status s = op_counts_check(a, ops, n);
    for (unsigned i = 0; s == RILL_OK && a->only_ops && i < n; i++)
        if (!op_listed(a->only_ops, ops[i].op->name)) {
            printf("FAIL: %u nodes of %s, which is none of %s\n", ops[i].nodes, ops[i].op->name,
                   a->only_ops);
            s = RILL_END;
        }
    free(ops);
    return s;
}
