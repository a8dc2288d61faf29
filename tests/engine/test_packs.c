/* SPDX-License-Identifier: MIT */
/* Packed weights that plans share: by constants that stay and all that a layout hangs on; what a
 * plan that failed has asked for is filled anew. */
#include "engine/graph/packs.h"
#include "tests/check.h"

#include <string.h>

static const float weights[8] = { 1 }, others[8] = { 2 }, of_a_plan[8] = { 3 };

/* A plan that asks for one block. */
static void *ask(struct arena *a, struct pack_store *s, const void *from, size_t word, size_t bytes,
                 bool *ret_there)
{
    struct packs p = { .arena = a, .shared = s };
    const size_t words[] = { PACK_MATRICES, word };
    const struct pack_key key = { { from }, words, 2 };
    unsigned char *to = packs_next_of(&p, bytes, &key, ret_there);
    CHECK(to && p.n == 1 && p.list[0].data == to && p.list[0].bytes == bytes, "%u blocks", p.n);
    bool zeroed = true;
    for (size_t i = 0; to && !*ret_there && i < bytes; i++)
        zeroed = zeroed && !to[i];
    CHECK(zeroed, "what is to be filled is not zeroed");
    return to;
}

static void expect(struct arena *a, struct pack_store *s, const void *from, size_t word,
                   size_t bytes, const void *first, bool is_there, const char *what)
{
    bool there;
    const void *to = ask(a, s, from, word, bytes, &there);
    CHECK(there == is_there && (to == first) == is_there, "%s", what);
    pack_store_end(s, true);
}

int main(void)
{
    struct arena a = { 0 };
    const void *const constants[] = { others, weights };
    struct pack_store *s = pack_store_new(constants, 2, false);
    bool there;
    unsigned char *first = ask(&a, s, weights, 1, 256, &there);
    CHECK(!there, "the first one is there");
    memset(first, 7, 256);
    pack_store_end(s, true);
    expect(&a, s, weights, 1, 256, first, true, "the same");
    expect(&a, s, weights, 2, 256, first, false, "another layout");
    expect(&a, s, weights, 1, 320, first, false, "another size");
    expect(&a, s, others, 1, 256, first, false, "other weights");
    expect(&a, s, of_a_plan, 1, 256, first, false, "weights that a plan made");
    expect(&a, s, of_a_plan, 1, 256, first, false, "those again");
    CHECK(pack_store_bytes(s) == 4 * 256 + 64, "%zu bytes", pack_store_bytes(s));
    unsigned char *failed = memset(ask(&a, s, others, 9, 128, &there), 9, 128);
    pack_store_end(s, false);
    for (int i = 0; i < 1000; i++) { /* zeroed, and no memory more for each that fails */
        CHECK(ask(&a, s, others, 9, 128, &there) == failed && !there, "it was laid out by none");
        failed[127] = 1;
        pack_store_end(s, false);
    }
    CHECK(pack_store_bytes(s) == 4 * 256 + 64 + 128, "%zu bytes", pack_store_bytes(s));
    CHECK(ask(&a, s, others, 9, 128, &there) == failed && !there, "it was laid out by none");
    pack_store_end(s, true);
    CHECK(ask(&a, s, others, 9, 128, &there) == failed && there, "it was laid out");
    CHECK(ask(&a, s, weights, 1, 256, &there) == first && there, "what a plan before had laid out");
    pack_store_end(s, false);
    CHECK(ask(&a, s, weights, 1, 256, &there) == first && there && first[0] == 7,
          "it was filled before the plan that failed");
    pack_store_free(s);
    arena_drop(&a);
    return check_done();
}
