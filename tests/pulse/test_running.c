/* SPDX-License-Identifier: MIT */
/* Linear attention over all frames so far becomes a sum that runs along them: the stream gives what
 * the products of all queries and keys give, as they were written. */
#include "engine/rewrite/pass.h"
#include "pulse/running.h"
#include "tests/pulse/oracle.h"

enum { WIDTH = 4 };
enum form { MULTIPLIED, BEFORE, FILLED, OVER_SUM, EINSUM, N_FORMS };

static uint32_t positions(struct gb *b, uint32_t x)
{
    uint32_t n = GB(b, "Slice", "", GB(b, "Shape", "", x), gb_ints(b, 1), gb_ints(b, 2));
    return GB(b, "Range", "", gb_int(b, 0), GB(b, "Squeeze", "", n, gb_ints(b, 0)), gb_int(b, 1));
}

static uint32_t laid(struct gb *b, uint32_t scores, uint32_t at, enum form form)
{
    uint32_t i = GB(b, "Unsqueeze", "", at, gb_ints(b, 1)),
             j = GB(b, "Unsqueeze", "", at, gb_ints(b, 0));
    if (form == FILLED)
        return GB(b, "Where", "", GB(b, "Less", "", i, j), gb_scalar(b, 0), scores);
    uint32_t shown = GB(b, form == BEFORE ? "Greater" : "GreaterOrEqual", "", i, j);
    return GB(b, "Mul", "", GB(b, "Where", "", shown, gb_scalar(b, 1), gb_scalar(b, 0)), scores);
}

static void recipe(struct gb *b, const void *ctx)
{
    const enum form form = *(const enum form *) ctx;
    uint32_t x = gb_input(b, "x", 3, 1, GB_TIME, WIDTH), of[3];
    for (int k = 0; k < 3; k++)
        of[k] = GB(b, "Sigmoid", "", GB(b, "MatMul", "", x, gb_weights(b, 2, WIDTH, WIDTH)));
    uint32_t scores = form == EINSUM ? GB(b, "Einsum", "equation='bid,bjd->bij", of[0], of[1])
                                     : GB(b, "MatMul", "", of[0], gb_transpose(b, of[1], "0,2,1"));
    uint32_t a = laid(b, scores, positions(b, x), form);
    if (form == OVER_SUM)
        a = GB(b, "Div", "", a, GB(b, "ReduceSum", "", a, gb_ints(b, -1)));
    gb_output(b,
              form == EINSUM ? GB(b, "Einsum", "equation='bij,bje->bei", a, of[2])
                             : GB(b, "MatMul", "", a, of[2]));
}

int main(void)
{
    static const struct pass sums = { "running-sums", false, graph_with_running_sums };
    static const int64_t pulses[] = { 1, 2, 3, 8, -1 }, lengths[] = { 1, 2, 5, 9, 30, -1 };
    for (enum form form = 0; form < N_FORMS; form++) {
        struct oracle o;
        bool made = oracle_open(&o, recipe, &form, NULL) == LAW_HOLDS;
        made = made &&
            passes_run(&sums, 1, &o.model->decluttered.g, &o.model->decluttered.g, NULL, &o.err) ==
                RILL_OK;
        oracle_check(made, "form %d: %s", (int) form, o.err.text);
        o.tolerance = 1e-5f; /* sums in another order */
        if (made)
            oracle_laws(&o, "a running sum", pulses, lengths);
        oracle_close(&o);
    }
    return oracle_end();
}
