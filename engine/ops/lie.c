/* SPDX-License-Identifier: MIT */
#include "engine/ops/lie.h"

static bool all_one(const struct tensor *t, int from, int to)
{
    for (int i = from; i < to; i++)
        if (t->dim[i] != 1)
            return false;
    return true;
}

struct operand_lie operand_lie(const struct tensor *x, const struct tensor *out)
{
    const struct operand_lie not = { LIE_NOT, 0, 0 };
    int lead = out->rank - x->rank, first = 0, last = x->rank - 1;
    if (lead < 0)
        return not ;
    while (first <= last && x->dim[first] == 1)
        first++;
    while (last > first && x->dim[last] == 1)
        last--;
    if (first > last)
        return (struct operand_lie) { LIE_ONE, 0, 0 };
    for (int i = first; i <= last; i++)
        if (x->dim[i] != out->dim[lead + i])
            return not ;
    bool all = all_one(out, 0, lead + first) && all_one(out, lead + last + 1, out->rank);
    return (struct operand_lie) { all ? LIE_ALL : LIE_AXES, lead + first, lead + last };
}
