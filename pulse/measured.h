/* SPDX-License-Identifier: MIT */
/* measured.h - which keys a mask shows that is a function of positions: its elements are looked at
 * as far as its constants speak of.
 *
 * Masks that are the same expression are looked at once, and so are queries that see alike. What
 * the masks of a graph may cost together is bounded. */
#ifndef RILL_PULSE_MEASURED_H
#define RILL_PULSE_MEASURED_H
#include "pulse/bands.h"
#include "pulse/positions.h"

/* Of all masks of a graph: elements times the size of their expressions. */
#define MEASURES_MAX ((int64_t) 1 << 28)

#define REACH_MAX ((int64_t) 1 << 18) /* frames that a mask may speak of, to both sides */

/* Of what repeats in an expression the length after which all does, at most REACH_MAX. */
int64_t expression_period(const struct dim *d);

struct measures;
struct measures *measures_new(struct arena *a); /* lives in a; NULL: no memory */
int64_t measures_spent(const struct measures *m);

struct measure {
    const struct position *at;
    enum shows what;
    int query, key; /* axes of it */
    struct rates rates;
};

/* Without a bound and `costly` where the masks of the graph cost too much. */
struct band measured_band(struct measures *m, const struct measure *of, const struct positions *ps);

/* Whether a query surely shows the key that is so many frames behind that of its own frame. */
bool measured_seen(struct measures *m, const struct measure *of, const struct positions *ps,
                   int64_t ahead);

/* ---- numbers of masks ---- */

bool shows_number(enum shows what, double v);
bool shows_surely(enum shows what, double v);  /* far from what hides */
double shows_depth(enum shows what, double v); /* how far what hides is from 0; INFINITY: it does
                                                  not hide */
bool is_truth_kind(enum shows what);
#endif
