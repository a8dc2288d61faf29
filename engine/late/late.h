/* SPDX-License-Identifier: MIT */
/* late.h - a graph whose sizes data decides, in plans.
 *
 * It is planned as far as sizes are known from the inputs that come, run so far, and planned on
 * with what that made: a stage. What fixes the plan of a stage are sizes (engine/sizes): those of
 * its inputs, and elements of small tensors that other sizes hang on. While they are what they
 * were, the plan stands, and where nothing that a stage reads was written, it does not run again.
 * Loops whose states grow, or that stack as often as data says, run a graph of this kind in every
 * iteration; NonZero, Compress and Unique are run between two stages.
 *
 * It plans and grows as it runs, so it is for whole recordings, not for streams. */
#ifndef RILL_ENGINE_LATE_LATE_H
#define RILL_ENGINE_LATE_LATE_H
#include "engine/graph/graph.h"
#include "engine/sizes/expr.h"

struct late;
struct pack_store;

struct late_opts {
    unsigned cpu;           /* enum kern_cpu bits to use */
    size_t bytes_max;       /* of the block of one stage, and of what its plans keep beside weights;
                               0: 1 GiB */
    uint32_t trips_max;     /* of a Loop that no plan fits; 0: 100000 */
    int64_t reserve_frames; /* of states that grow (engine/late/op.h); 0: 1024 */
    struct pack_store *packs; /* of one whose bodies have g; NULL: of its own */
};

struct late_counts {
    uint64_t hits, misses; /* of the sizes that fix plans */
    uint64_t plans;        /* that were made */
    uint64_t runs, spared; /* of stages; those where nothing was new */
    uint64_t grown;        /* how often a block had to */
    size_t block_bytes;    /* of all stages now */
    size_t packed_bytes;   /* of weights as kernels want them, which all plans share */
    size_t weights_bytes;  /* of the graph's constants */
};

/* g: as a reader made it, and its arena lives longer. known: one per input, a value that it always
 * has, or NULL; NULL: none. Refuses states, which nothing would carry. */
rill_status late_new(struct late **ret, const struct graph *g, const struct tensor *const *known,
                     const struct late_opts *opts, rill_error *reterr);
struct late *late_free(struct late *l); /* takes and returns NULL */

/* Plans the first stage for inputs of those sizes, which have no data yet: what it refuses is
 * refused whatever comes. */
rill_status late_probe(struct late *l, const struct size_source *inputs, rill_error *reterr);

/* One tensor for each input; `writes` counts what was written into it. Inputs of 16-bit floats are
 * f32 here, and rounded unless `number` promises that they are. Outputs, one for each of g,
 * are l's until its next run. Only one thread at a time, and none that makes anything else of g's
 * dims. */
rill_status late_run(struct late *l, const struct size_source *inputs,
                     const struct tensor **ret_outputs, rill_error *reterr);

void late_count(const struct late *l, struct late_counts *ret); /* bodies included */
const struct graph *late_source(const struct late *l);          /* the g that it was made of */
const char *late_isa(const struct late *l); /* struct kern's word for what its plans run on */
struct pack_store *late_packs(const struct late *l); /* of the weights that its plans share */
void late_counts_add(struct late_counts *to, const struct late_counts *more);
#endif
