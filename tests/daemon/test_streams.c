/* SPDX-License-Identifier: MIT */
/* Numbers of a connection's streams are found in a few steps, whatever they are. No daemon. */
#include "daemon/net/streams.h"
#include "tests/daemon/harness.h"

#define N 64

enum kind { KIND_EVEN, KIND_ODD };

/* Steps that finding them takes: all of them together, and the worst. */
static unsigned steps_count(const struct streams *t, uint32_t id)
{
    for (unsigned p = 0; p < STREAMS_PLACES; p++) {
        unsigned n = 1;
        for (const struct stream_link *l = t->places[p]; l; l = l->next, n++)
            if (l->id == id)
                return n;
    }
    return 0;
}

/* Numbers k * step + from for 64 streams, every second one of another kind. */
static void test_numbers(uint32_t secret, uint32_t from, uint32_t step)
{
    struct streams t = { .secret = secret };
    static struct stream_link list[N];
    unsigned all = 0, worst = 0, seen = 0, twice = 0;
    for (uint32_t i = 0; i < N; i++) {
        list[i] =
            (struct stream_link) { .id = from + i * step, .kind = i % 2 ? KIND_ODD : KIND_EVEN };
        CHECK(!streams_find(&t, list[i].id));
        streams_add(&t, &list[i]);
    }
    for (uint32_t i = 0; i < N; i++) {
        unsigned n = steps_count(&t, list[i].id);
        CHECK(streams_find(&t, list[i].id) == &list[i] && n > 0);
        all += n;
        worst = n > worst ? n : worst;
    }
    CHECK(all < 3 * N && worst <= 8, "steps of %u: %u for %u streams, %u at worst", step, all, N,
          worst);
    bool told[N] = { false };
    for (struct stream_link *l = NULL; (l = streams_next(&t, KIND_ODD, l)); seen++) {
        CHECK(l->kind == KIND_ODD);
        twice += told[l - list];
        told[l - list] = true;
        streams_remove(&t, l); /* the next one comes all the same */
    }
    CHECK(seen == N / 2 && !twice && t.n == N / 2 && !streams_next(&t, KIND_ODD, NULL));
    for (uint32_t i = 0; i < N; i++) {
        CHECK(streams_find(&t, list[i].id) == (i % 2 ? NULL : &list[i]));
        streams_remove(&t, &list[i]); /* one that is not there: nothing */
    }
    CHECK(t.n == 0);
}

int main(void)
{
    static const uint32_t secrets[] = { 0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f },
                          steps[] = { 1,    2,     3,        16,       64,      128,        1000,
                                      4096, 65536, 1u << 24, 1u << 26, 0x10001, 2654435761u };
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            test_numbers(secrets[i], 1, steps[k]);
    return check_end();
}
