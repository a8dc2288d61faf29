/* SPDX-License-Identifier: MIT */
/* Behind what pieces_reach says, an expression of comparisons, products and quotients repeats with
 * its quotients and with nothing else: random ones, looked at place by place. */
#include "pulse/pieces.h"
#include "tests/check.h"

enum { EXPRESSIONS = 4000, MOST = 1 << 18, LOOKED = 20000, DIVISORS_MAX = 64 };

struct made {
    struct dims *ds;
    const struct dim *k;
    int64_t period; /* of its quotients */
};

static int64_t number(int64_t most)
{
    return (int64_t) check_random((uint32_t) (2 * most + 1)) - most;
}

static const struct dim *value_make(struct made *m, int depth);

static const struct dim *truth_make(struct made *m, int depth)
{
    const struct dim *a = value_make(m, depth), *b = value_make(m, depth);
    return check_random(3) ? dim_ge(m->ds, a, b) : dim_eq(m->ds, a, b);
}

static const struct dim *value_make(struct made *m, int depth)
{
    const struct dim *x;
    const int64_t by = 2 + (int64_t) check_random(7);
    if (depth <= 0)
        return check_random(3) ? m->k : dim_int(m->ds, number(60));
    switch (check_random(8)) {
    case 0:
    case 1:
    case 2:
        x = dim_mul_int(m->ds, value_make(m, depth - 1), number(40));
        return dim_add_int(m->ds, dim_add(m->ds, x, value_make(m, depth - 1)), number(900));
    case 3: return dim_mul(m->ds, value_make(m, depth - 1), value_make(m, depth - 1));
    case 4: return dim_max(m->ds, value_make(m, depth - 1), value_make(m, depth - 1));
    case 5: return dim_min(m->ds, value_make(m, depth - 1), value_make(m, depth - 1));
    case 6: return truth_make(m, depth - 1);
    default:
        if (m->period * by > DIVISORS_MAX)
            return m->k;
        m->period *= by;
        return dim_div_int(m->ds, value_make(m, depth - 1), by);
    }
}

/* Of two places in each class, one right behind the reach and one further on. */
static bool repeats(const struct made *m, const struct dim *d, int64_t reach)
{
    for (int64_t k = reach + 1; k <= reach + m->period; k++)
        for (int64_t turns = 1; turns <= 100000; turns *= 10) {
            int64_t a, b;
            if (dim_eval(d, m->k, k, &a) && dim_eval(d, m->k, k + turns * m->period, &b) && a != b)
                return false;
        }
    return true;
}

/* Whether it turns anywhere between its reach and `from`, on whose other side it repeats. */
static bool turns_within(const struct made *m, const struct dim *d, int64_t from, int64_t reach)
{
    for (int64_t k = from + 1; k < reach; k++) {
        int64_t a, b;
        if (dim_eval(d, m->k, k, &a) && dim_eval(d, m->k, k + m->period, &b) && a != b)
            return true;
    }
    return false;
}

int main(void)
{
    unsigned known = 0, near = 0;
    for (int i = 0; i < EXPRESSIONS; i++) {
        struct made m = { .ds = dims_new(), .period = 1 };
        char text[400];
        m.k = dim_symbol(m.ds, "k");
        const struct dim *d = truth_make(&m, 1 + (int) check_random(3));
        const int64_t reach = pieces_reach(d, MOST);
        dim_print(d, text, sizeof text);
        if (!dim_is_const(d) && reach < MOST) {
            CHECK(repeats(&m, d, reach), "%s: within %lld", text, (long long) reach);
            known++;
            near += reach < LOOKED && turns_within(&m, d, reach / 8, reach);
        }
        dims_free(m.ds);
    }
    CHECK(known > EXPRESSIONS / 4 && near > known / 20, "%u are known, %u turn near their reach",
          known, near);
    return check_done();
}
