/* SPDX-License-Identifier: MIT */
/* bands.h - which keys a query of attention over time can see.
 *
 * Along the two time axes of a wire, queries and keys, everything outside its band is known: it is
 * false or 0, or so low that a softmax makes 0 of it. What queries see repeats from chunk to chunk.
 * A chunk sees at most the keys from `left` frames before its first to `right` frames behind its
 * last: those of the keys that take the chunk's time. */
#ifndef RILL_PULSE_BANDS_H
#define RILL_PULSE_BANDS_H
#include "pulse/pulser.h"

#define BAND_ALL                                                                                   \
    (INT64_MAX / 4) /* of left and right: no bound; both -BAND_ALL: nothing is seen                \
                     */
#define CHUNK_MAX 512
#define FIRST_MAX 64        /* keys at the begin that a mask may show beside its window */
#define CONTEXT_MAX 2048    /* frames that a mask is looked at to both sides */
#define HIDES (-1e4)        /* a score at or below which softmax gives 0 */
#define HIDES_CHOSEN (-1e3) /* the same of a number that no score is added to */

#define DEEP 150.0 /* exp of -DEEP and less is 0 in f32 */
#define DEEP_F64 800.0
#define SEEN 300.0

/* Frames of queries and of keys that take the same time, the least. A chunk is as many queries as
 * take whole steps of both. */
struct rates {
    int64_t queries, keys;
};

static inline int64_t rates_keys(const struct rates *r, int64_t queries)
{
    return queries / r->queries * r->keys;
}

/* Keys that pass while queries are so late. The first key of a run is that of the step in which its
 * first query lies. */
static inline int64_t rates_late(const struct rates *r, int64_t delay)
{
    return (delay + r->queries - 1) / r->queries * r->keys;
}

/* The fewest queries that pass until so many keys have come; below 0 of keys that came before,
 * where both have one rate. */
static inline int64_t rates_queries(const struct rates *r, int64_t keys)
{
    if (r->queries == r->keys)
        return keys;
    return keys <= 0 ? 0 : (keys - 1) / r->keys * r->queries + 1;
}

/* The fewest queries that pass while so many keys do. */
static inline int64_t rates_pass(const struct rates *r, int64_t keys)
{
    return (keys * r->queries + r->keys - 1) / r->keys;
}

/* What one query sees, from its own key; low > high: nothing. */
struct reach {
    int64_t low, high;
};

struct band {
    int64_t chunk, left, right; /* of queries; of keys */
    int64_t first;              /* of the sequence, so many keys may be seen beside those */
    const int64_t *early;       /* the last of them that each of the first `first` queries sees; -1:
                                   none; NULL: those that the window has */
    const struct reach *at;     /* per query of a chunk; NULL: left and right hold for each */
    bool ragged;                /* a mask does not repeat from chunk to chunk */
    bool costly; /* the masks of the graph are too many and too large to be looked at */
    double deep; /* what is low outside is at least so low (-deep or less), or so high */
};
#define BAND_OF_ALL                                                                                \
    {                                                                                              \
        .chunk = 1, .left = BAND_ALL, .right = BAND_ALL, .first = BAND_ALL, .deep = INFINITY       \
    }
#define BAND_OF_NONE                                                                               \
    {                                                                                              \
        .chunk = 1, .left = -BAND_ALL, .right = -BAND_ALL, .deep = INFINITY                        \
    }

/* What holds inside the band, and surely not outside. */
enum shows {
    SHOWS_TRUE,  /* it is not 0 */
    SHOWS_FALSE, /* it is 0 */
    SHOWS_HIGH,  /* more than HIDES */
    SHOWS_SMALL, /* less than -HIDES */
    SHOWS_SOME,  /* more than -inf */
    SHOWS_LESS,  /* less than inf */
    N_SHOWS
};

/* Of a wire with both axes; 1 and 1 where it is not known how one of them grows. */
struct rates rates_of(const struct pulser *p, uint32_t src_wire, int query, int key);
struct band band_of(const struct pulser *p, uint32_t src_wire, enum shows what, int query, int key);
/* Whether that surely holds where a query meets the key of its own frame: not low is at least
 * -SEEN there, not high at most SEEN. Scores are taken for numbers of usual size. */
bool band_diagonal(const struct pulser *p, uint32_t src_wire, enum shows what, int query, int key);
/* The same of any key that each query has at every length: where there are n more keys than
 * queries, query i has keys i to i + n. */
bool band_sees_some(const struct pulser *p, uint32_t src_wire, enum shows what, int query, int key);
/* Outside it the wire holds that zero of its bytes: what was quantised is 0 there, and a number. */
struct band bytes_band(const struct pulser *p, uint32_t src_wire, double zero, int query, int key);
/* Whether a QuantizeLinear may make of a query that sees no key a byte that counts. */
bool band_quantises_none(const struct pulser *p, const struct node *quantiser, int query, int key);
struct band band_union(const struct pulser *p, const struct band *a, const struct band *b);
struct band band_intersection(const struct pulser *p, const struct band *a, const struct band *b);
bool band_shows_nothing(const struct band *b);
bool band_bounded(const struct band *b);
bool band_inside(const struct band *b, const struct band *outer);

/* The keys that whole chunks of queries see which begin with that query of a chunk of the mask,
 * from `left` frames before the first to `right` behind the last, the first being that of the step
 * of r in which they begin; none of them: both -BAND_ALL. chunk is whole steps of r. */
struct key_span {
    int64_t left, right;
};
struct key_span band_span(const struct band *b, const struct rates *r, int64_t chunk,
                          int64_t phase);
/* How far behind the last query of its run each of the first queries sees first keys, at most: runs
 * of so many queries, of which the first holds query -delay first. Of as many queries as keys. */
int64_t band_early(const struct band *b, int64_t pulse, int64_t delay);
/* The keys from the first on that one of so many first queries sees, at least 1. Of as many queries
 * as keys. */
int64_t band_first_keys(const struct band *b, int64_t queries);
/* How far behind its own a query sees first keys, at most. */
int64_t band_ahead(const struct band *b);
/* How many keys before its own a query sees at most, and behind it. */
struct key_span band_reach(const struct band *b);

/* What bands were found; lives in a. */
struct bands *bands_new(const struct graph *g, struct arena *a);
int64_t bands_spent(const struct bands *b); /* of MEASURES_MAX (measured.h) */
#endif
