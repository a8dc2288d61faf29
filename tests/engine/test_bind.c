/* SPDX-License-Identifier: MIT */
/* Sizes of actual inputs give symbols their values, also in constants that hold sizes; those that
 * do not fit are refused by name. */
#include "tests/check.h"
#include "engine/graph/bind.h"
#include "engine/typing/interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct row {
    const char *shape[2];   /* declared */
    int64_t size[2][2];     /* given, two axes each */
    int64_t s, t;           /* what S and T must be; -1: stays open */
    const char *refused[3]; /* words of the message */
} rows[] = {
    { { "S,3", "T,1" }, { { 5, 3 }, { 7, 1 } }, 5, 7, { NULL } },
    { { "2*S,3", "T,S" }, { { 10, 3 }, { 7, 5 } }, 5, 7, { NULL } },
    { { "S + 3,3", "4*T - 1,1" }, { { 10, 3 }, { 7, 1 } }, 7, 2, { NULL } },
    { { "S + T,3", "T,1" }, { { 10, 3 }, { 7, 1 } }, 3, 7, { NULL } },
    { { "S,S/2", "T,2*S + T" }, { { 9, 4 }, { 1, 19 } }, 9, 1, { NULL } },
    { { "S,0*S + 3", "T,T*S" }, { { 0, 3 }, { 0, 0 } }, 0, 0, { NULL } },
    { { "S/160,3", "T,1" }, { { 10, 3 }, { 7, 1 } }, -1, 7, { NULL } },
    { { "2*S,3", "S,1" }, { { 10, 3 }, { 6, 1 } }, 0, 0,
      { "input 'b' has 6 on axis 0", "S is 5", "input 'a', axis 0" } },
    { { "S,3", "2*T,S/2 + T" }, { { 10, 3 }, { 4, 8 } }, 0, 0,
      { "input 'b' has 8 on axis 1", "is 7: ", "'a'" } },
    { { "2*S,3", "T,1" }, { { 9, 3 }, { 6, 1 } }, 0, 0,
      { "input 'a', axis 0", "2*S == 9", "fraction" } },
    { { "S + 3,3", "T,1" }, { { 2, 3 }, { 6, 1 } }, 0, 0, { "input 'a'", "makes S -1", "" } },
    { { "S,3", "T,1" }, { { 2, 4 }, { 6, 1 } }, 0, 0, { "input 'a' has 4 on axis 1", "3", "" } },
    { { "S", "T,1" }, { { 2, 4 }, { 6, 1 } }, 0, 0, { "input 'a' has 2 axes", "wants 1", "" } },
};
/* clang-format on */

/* With something asserted. */
/* clang-format off */
static const struct claimed {
    const char *claim;
    struct row row;
} claimed[] = {
    { "S == 4*(S/4)", { { "S,3", "T,1" }, { { 8, 3 }, { 7, 1 } }, 8, 7, { NULL } } },
    { "S > T", { { "S,3", "T,1" }, { { 8, 3 }, { 7, 1 } }, 8, 7, { NULL } } },
    { "S > 10*T", { { "S/160,3", "T,1" }, { { 10, 3 }, { 7, 1 } }, -1, 7, { NULL } } },
    { "S == 4*(S/4)", { { "S,3", "T,1" }, { { 10, 3 }, { 7, 1 } }, 0, 0,
      { "'S == 4*(S/4)' is asserted", "S = 10 by input 'a', axis 0", "" } } },
    { "S > T", { { "2*S,3", "T,1" }, { { 10, 3 }, { 6, 1 } }, 0, 0,
      { "'S > T' is asserted", "S = 5 by input 'a'", "T = 6 by input 'b'" } } },
};
/* clang-format on */

struct build {
    struct arena arena;
    struct dims *dims;
    struct graph g;
    rill_error err;
};

static bool shape_read(struct build *b, const char *text, struct fact *f)
{
    char copy[100], *save = NULL;
    snprintf(copy, sizeof copy, "%s", text);
    *f = (struct fact) { .type = DTYPE_F32 };
    for (char *part = strtok_r(copy, ",", &save); part; part = strtok_r(NULL, ",", &save))
        if (dim_parse(b->dims, part, &f->shape[f->rank++], &b->err) != RILL_OK)
            return false;
    return true;
}

/* g(a, b) = a one spread over the sizes [S, T], which stand in a constant. */
static bool graph_make(struct build *b, const struct row *r)
{
    struct fact f;
    int64_t two = 2;
    struct tensor *one = tensor_new(&b->arena, DTYPE_F32, 0, NULL),
                  *sizes = tensor_new(&b->arena, DTYPE_DIM, 1, &two);
    ((const struct dim **) sizes->data)[0] = dim_symbol(b->dims, "S");
    ((const struct dim **) sizes->data)[1] = dim_symbol(b->dims, "T");
    for (int i = 0; i < 2; i++)
        if (!shape_read(b, r->shape[i], &f) ||
            graph_add_input(&b->g, i ? "b" : "a", &f) == WIRE_NONE)
            return false;
    uint32_t in[2] = { graph_add_const(&b->g, "one", one), graph_add_const(&b->g, "sizes", sizes) };
    uint32_t out = graph_add_wire(&b->g, "y", NULL);
    return graph_add_node(&b->g, op_find("Expand"), "spread", NULL, in, 2, &out, 1) &&
        graph_add_output(&b->g, out);
}

static bool as_wanted(const struct row *r, rill_status s, const struct tensor *y,
                      const rill_error *err)
{
    if (r->refused[0]) {
        for (int i = 0; i < 3; i++)
            if (!strstr(err->text, r->refused[i]))
                return false;
        return s == RILL_INVALID;
    }
    if (r->s < 0)
        return s == RILL_UNSUPPORTED && strstr(err->text, "spread");
    return s == RILL_OK && y->rank == 2 && y->dim[0] == r->s && y->dim[1] == r->t;
}

static void row_run(const struct row *r, const char *claim)
{
    struct build b = { .dims = dims_new() };
    const struct tensor *y = NULL;
    graph_init(&b.g, &b.arena, b.dims, "g");
    struct tensor *x[2] = { tensor_new(&b.arena, DTYPE_F32, 2, r->size[0]),
                            tensor_new(&b.arena, DTYPE_F32, 2, r->size[1]) };
    const struct tensor *in[2] = { x[0], x[1] };
    bool made = (!claim || dims_claim(b.dims, claim, &b.err) == RILL_OK) && graph_make(&b, r);
    rill_status s = made ? interp_run(&b.g, in, &b.arena, &y, &b.err) : RILL_INTERNAL;
    CHECK(made && as_wanted(r, s, y, &b.err), "%s and %s: status %d, %s", r->shape[0], r->shape[1],
          s, b.err.text);
    arena_drop(&b.arena);
    dims_free(b.dims);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        row_run(&rows[i], NULL);
    for (size_t i = 0; i < sizeof claimed / sizeof *claimed; i++)
        row_run(&claimed[i].row, claimed[i].claim);
    return check_done();
}
