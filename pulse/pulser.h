/* SPDX-License-Identifier: MIT */
/* pulser.h - what a streaming rule sees and may do.
 *
 *   pulser.c            facts of wires; nodes, states and constants of the pulsed graph
 *   flow.c              delays, histories, masks, padding, windows, alignment
 *   pads.c, unpad.c     what pads a sequence, as frames, and what reads it without
 *   tracks.c            where axes lie before and behind an op
 *   places.c            what depends on positions alone, where somebody looks at it
 *   bands.c, band_sets.c, looks.c  which keys masks show
 *   sections.c          wires with time on two axes
 *   shifts.c            products with tables of distances
 *   kept.c, kept_frames.c  frames at fixed places of a sequence
 *   length_mask.c       frame numbers compared with a length
 *   known.c             what is made of constants alone
 *   counted.c           what is made of frame numbers alone, a frame at a time
 *   first_queries.c     queries that are known before the first run
 *   parts.c             some indices beside time, no later than what they are made of
 *   settled.c           whether what a mask hides is hidden behind a node
 *   heads.c             frames in front of a sequence that a recurrence runs over
 *   guard.c             numbers that an op checks, in frames outside the sequence
 *
 * The rules themselves are in rules_*.c: rules.h. */
#ifndef RILL_PULSE_PULSER_H
#define RILL_PULSE_PULSER_H
#include "engine/graph/op.h"
#include "pulse/offset.h"

struct axis_row; /* axes.h */
struct positions;
struct bands;          /* bands.h */
struct sections;       /* sections.h */
struct shifts;         /* shifts.h */
struct wire_history;   /* flow.c */
struct counted_frames; /* counted.c */
struct first_scores;   /* first_queries.c */
struct part_made;      /* parts.c */
struct flow;
struct padded;
struct wire_part; /* parts.h */

/* A wire that does not stream and yet holds frames of a stream, from the run on in which so many
 * input frames have come; 0: it holds none. */
struct kept {
    int64_t inputs;
    const int64_t *come;      /* of what is made of frames one by one, the same of each; or NULL */
    int axis;                 /* on which those lie */
    const struct dim *frames; /* that it would have in the whole run, where some lengths have fewer
                                 than there are here; NULL: it has what is here */
    int64_t least;            /* length from which on they have as many; 0: not known */
    bool hollow; /* of any wire: it is there of a sequence without frames, and made of such that
                    this lacks */
};

struct pulser {
    const struct graph *src;
    struct graph *dst;
    uint32_t *map;          /* src wire -> dst wire */
    struct stream_fact *sf; /* of src wires */
    const struct dim *symbol;
    struct arena *arena;
    int64_t pulse;
    int64_t lead_in;      /* units of the symbol that the first run has in front of the stream */
    int64_t multiple;     /* set when the pulse does not fit: what it must be a multiple of */
    struct pulser *outer; /* of a body: the pulser of the graph around it */
    bool branch;          /* of a body: an If's that runs once a run, or not at all */
    int64_t late;         /* of a branch: units of the symbol by which its frames are late */
    uint32_t clock;       /* dst wire, WIRE_NONE until a rule needs it */
    uint32_t runs_clock;  /* the same, of a branch's own runs */
    const struct dim *lengths[LENGTHS_MAX]; /* of the outermost pulser only */
    uint32_t n_lengths;
    struct wire_history *histories; /* those that were made, to serve again */
    struct counted_frames *counted; /* the same */
    struct axis_window *windows;    /* of src nodes */
    struct kept *kept;              /* of src wires that are made of frames at a fixed place */
    struct padded *padded; /* of src wires: the flow in front of a constant pad along time */
    const struct positions
        *positions;    /* of the outermost graph; NULL: nothing streams, or a body is pulsed */
    bool early;        /* attention takes first queries apart: first_queries.h */
    bool may_be_early; /* this walk, or another one, would find such */
    bool ends;         /* what masks of the length tell of first frames is apart: length_mask.c */
    bool may_be_ends;  /* the same */
    bool apart;        /* parts of blocks are made apart where they come earlier: parts.h */
    bool may_be_apart; /* this walk, or another one, would find such */
    struct part_made *parts;           /* that were made, to serve again */
    struct first_scores *first_scores; /* the same */
    bool *made;                        /* these four stand where positions do: places.h */
    struct shifts *shifts;
    struct bands *bands;
    struct sections *sections;
    bool *untraced; /* per src wire: its numbers are others than those of the whole run, what is
                       made of them is not: it counts from time to time anew (rebase.h), or what is
                       larger stands beside it (sections.c); NULL: none is */
    uint32_t valid; /* of a body that runs once a frame and checks numbers: whether the frame is one
                       of the sequence; WIRE_NONE: of no such body */
    bool keep_bodies;
    /* What rules ask for and stands above them: the table of rows (rules.c), parts of wires
     * (parts.c), and the walk of src into dst, whose inputs, states and maps are set up (cut.c). */
    const struct axis_row *(*row_of)(const struct op *op);
    rill_status (*part_of)(struct pulser *p, const struct wire_part *x, struct flow *ret);
    rill_status (*walk)(struct pulser *p);
    rill_status (*walk_branch)(struct pulser *p); /* of a graph that has positions of its own */
    const struct node *stopped;                   /* at which the walk was refused; NULL: at none */
    rill_error *err;
};

/* A streaming rule: reads node n of src, emits what stands for it in dst and sets the outputs'
 * stream facts. At least one input streams, but for rules of sources. */
typedef rill_status pulse_rule(struct pulser *p, const struct node *n);

/* The maps of src, whose constants are in dst then. */
rill_status pulser_maps_new(struct pulser *p);
/* ret: of src, a body within p's graph, into dst, which is begun. */
rill_status pulser_body_new(struct pulser *ret, struct pulser *p, const struct graph *src,
                            struct graph *dst);

/* ---- pulser.c: facts ---- */

/* NULL: does not stream */
const struct stream_fact *pulser_stream(const struct pulser *p, uint32_t src_wire);
const struct fact *pulser_fact(const struct pulser *p,
                               uint32_t src_wire); /* of the decluttered graph */
const struct fact *pulser_dst_fact(const struct pulser *p, uint32_t dst_wire);
rill_status pulser_no_memory(const struct pulser *p);

/* The constant value of input i of n as integers; false where it is absent, not known or mentions a
 * symbol. */
bool pulser_const_ints(const struct pulser *p, const struct node *n, unsigned i, int64_t *ret,
                       unsigned cap, unsigned *ret_n);

/* An input of the node is a length of the whole sequence; and a node with one is refused. */
bool pulser_knows_length(const struct pulser *p, const struct node *n);
bool fact_knows_length(const struct fact *f); /* takes NULL */
rill_status pulser_no_lengths(const struct pulser *p, const struct node *n);

/* Refuses n for what it makes of its first input's shape. */
rill_status pulser_refuse_shapes(const struct pulser *p, const struct node *n, const char *why);

/* Frames per frame of the stream, in the long run, of a wire of that length; false where it does
 * not grow evenly. */
bool pulser_growth(const struct pulser *p, const struct dim *length, int64_t *ret_num,
                   int64_t *ret_den);

/* ---- tracks.c, places.c ---- */

/* Two of its axes mention the stream symbol; and it is a function of positions alone. */
bool pulser_time_twice(const struct pulser *p, uint32_t src_wire);
bool pulser_is_mask(const struct pulser *p, uint32_t src_wire);

/* ---- rules_attention.c ---- */

/* Nodes of attention over time. */
bool node_is_attention(const struct pulser *p, const struct node *n);
pulse_rule rule_attention;

/* ---- pulser.c: emitting ---- */

/* Emits op with the dst wires `in`; facts by the op's own infer. */
rill_status pulser_emit(struct pulser *p, const struct op *op, const char *name, const void *attr,
                        const uint32_t *in, unsigned n_in, uint32_t *ret_out, unsigned n_out);
/* The same for any op of the list, with attributes as a reader would find them; one
 * output. */
rill_status pulser_emit_op(struct pulser *p, enum op_id id, const char *name,
                           const struct attr *attrs, unsigned n_attrs, const uint32_t *in,
                           unsigned n_in, uint32_t *ret_out);
/* A copy of the node's attributes with some INT, CHOICE (by index) and INTS members replaced. */
rill_status pulser_attr_copy(struct pulser *p, const struct node *n, const struct attr *list,
                             unsigned n_list, void **ret);
rill_status pulser_ints(struct pulser *p, const char *name, const int64_t *v, unsigned n,
                        uint32_t *ret);
/* What the op makes of *wire and one number. */
rill_status pulser_with_int(struct pulser *p, const struct node *n, enum op_id id, int64_t v,
                            uint32_t *wire);
/* The wire that a state with the shape of fact f is read from where the axis has n frames. */
rill_status pulser_state(struct pulser *p, const char *name, const struct fact *f, int axis,
                         int64_t n, uint32_t *ret);
/* A constant as large as f says, of one number; NULL: of zeros. Errors call it name. */
rill_status pulser_full(struct pulser *p, const char *name, const struct fact *f,
                        const struct tensor *scalar, const struct tensor **ret);

/* known.c: the constant that a dst wire is computed of constants alone to be, as a dst wire;
 * WIRE_NONE: it is none. */
rill_status pulser_known(struct pulser *p, uint32_t dst_wire, uint32_t *ret);

/* A tensor of the static wire's shape, all of it the scalar; NULL for a NULL scalar. */
rill_status pulser_filled(struct pulser *p, uint32_t dst_wire, const struct tensor *scalar,
                          const struct tensor **ret);
rill_status pulser_slice(struct pulser *p, const char *name, uint32_t wire, int axis, int64_t from,
                         int64_t to, uint32_t *ret);

/* Its `count` frames along the axis from the last on; static ones. */
rill_status pulser_turned(struct pulser *p, const struct node *n, int axis, int64_t count,
                          uint32_t *wire);

/* Of a branch: how late its frames are, in frames of that rate. */
static inline int64_t pulser_late(const struct pulser *p, const struct stream_fact *s)
{
    return p->late / s->hop_num * s->hop_den;
}

/* The clock's wire, captured from outside in a body; and the place of a length in it. */
rill_status pulser_clock(struct pulser *p, uint32_t *ret);
rill_status pulser_length_place(struct pulser *p, const struct dim *length, int64_t *ret);
/* The clock of the first run, with the lengths that are known now. */
rill_status pulser_first_clock(struct pulser *p, const struct node *n, uint32_t *ret);

/* Refuses a node that, with the dst wires `in`, takes this pulse by chance: an input that does not
 * stream has as many indices where the others have time, which lies on `axis` of output k. */
rill_status pulser_any_pulse(struct pulser *p, const struct node *n, const uint32_t *in, unsigned k,
                             int axis);

/* Binds output k of n to a dst wire with stream fact sf; checks that the wire has sf->pulse frames
 * there. */
rill_status pulser_bind(struct pulser *p, const struct node *n, unsigned k, uint32_t dst_wire,
                        const struct stream_fact *sf);

/* Asks for another pulse where s->pulse is no multiple of hop: sets p->multiple and fails. what:
 * the hop, for people. */
rill_status pulser_want_multiple(struct pulser *p, const struct node *n,
                                 const struct stream_fact *s, int64_t hop, const char *what);

/* ---- pulser.c: frames that are kept ---- */

bool pulser_kept(const struct pulser *p, uint32_t src_wire);
bool node_has_kept(const struct pulser *p, const struct node *n);
/* By what frame 0 of a wire of that rate must be late so that all is there that n keeps. */
int64_t kept_delay(const struct pulser *p, const struct node *n, const struct stream_fact *s);

/* ---- kept.c: frames at fixed places of a sequence ---- */

/* Output k of n: frames first.. of f, so many, kept once they have come; around: how f is padded.
 */
rill_status kept_frames(struct pulser *p, const struct node *n, unsigned k, struct flow *f,
                        const struct padded *around, int64_t first, int64_t frames);
/* Frames first.. of what q, which pads by given frames, pads, so many, as a dst wire that holds
 * them once so many input frames have come. */
rill_status kept_padded(struct pulser *p, const struct node *n, const struct padded *q,
                        int64_t first, int64_t frames, uint32_t *ret, int64_t *ret_inputs);
/* Refuses n where sequences may be shorter than what it keeps. */
rill_status kept_check(const struct pulser *p, const struct node *n);
/* Which outputs of n are hollow. */
void kept_of_none(struct pulser *p, const struct node *n);
/* Output i of n, a body of which makes it of what is kept. */
rill_status kept_result(struct pulser *p, const struct node *n, unsigned i, const struct kept *k);
/* The node as it is, of kept frames and constants. */
rill_status kept_node(struct pulser *p, const struct node *n);
rill_status kept_refuse(const struct pulser *p, const struct node *n);
/* Whether it is several kept frames, or what was made of each, joined again: a loop over the frames
 * of an example, unrolled. */
bool kept_unrolled(const struct pulser *p, uint32_t src_wire);
#define UNROLLED_WORDS                                                                             \
    "joined of single frames at fixed places, as by a loop that was unrolled over the frames of "  \
    "the example when the model was exported; written as a Loop, a Scan or a recurrent op it "     \
    "streams"
/* Refuses an output or a state that is made of kept frames, or hollow. */
rill_status kept_port(struct pulser *p, uint32_t src_wire);

/* The clock; of a branch one that counts its own runs. */
rill_status pulser_runs_clock(struct pulser *p, const char *name, uint32_t *ret);

/* So many frames of f from number `first` on, as a dst wire that holds them once they have come,
 * and how many input frames have come then for frame number `last`. */
rill_status kept_first(struct pulser *p, const struct node *n, const struct flow *f, int64_t first,
                       int64_t frames, uint32_t *ret);
/* The first frames of the sequence in a branch, too, where those are zeros that came while the
 * other one ran. */
rill_status kept_placed(struct pulser *p, const struct node *n, const struct flow *f,
                        int64_t frames, uint32_t *ret);
int64_t kept_inputs(const struct flow *f, int64_t last);

/* ---- guard.c ---- */

/* Whether a node in the graph or its bodies checks numbers that are not constants. */
bool graph_checks(const struct graph *g);
/* In a body that runs once a frame: the node as it is, but that numbers that it or a body of its
 * own checks are 0 where p->valid is not set. */
rill_status pulser_guard(struct pulser *p, const struct node *n, const uint32_t *in,
                         const uint32_t *out);

/* ---- flow.c: a dst wire and how it streams ---- */

struct flow {
    uint32_t wire;
    struct stream_fact sf;
};

/* The flow of a src wire; false: it does not stream. */
bool flow_of(const struct pulser *p, uint32_t src_wire, struct flow *ret);

/* Later by n frames. */
rill_status flow_delay(struct pulser *p, const char *name, struct flow *f, int64_t n);

/* The one value that the expression has for all lengths that the assertions allow; false where it
 * has several. */
bool pulser_dim_value(const struct pulser *p, const struct dim *d, int64_t *ret);

/* The runs that come before the length is known: the whole ones of the sequence, by its length;
 * NULL: not known. */
const struct dim *flow_runs(const struct pulser *p, const struct stream_fact *s);

/* Late enough that whether a frame lies before the end is known when it comes. */
rill_status flow_resolve(struct pulser *p, const struct node *n, struct flow *f);
/* The same of sequences that have frames. */
rill_status flow_resolve_some(struct pulser *p, const struct node *n, struct flow *f);

/* The newest n frames of the past in front: the wire has n + pulse frames, sf stays that of the
 * newest. Before the first run the past is `fill` (a scalar of the wire's type; NULL: zeros). */
rill_status flow_history(struct pulser *p, const char *name, struct flow *f, int64_t n,
                         const struct tensor *fill);

/* Frames outside the sequence become fill (NULL: zeros). Nothing is emitted for a side that has
 * none to hide. */
rill_status flow_mask(struct pulser *p, const struct node *n, struct flow *f,
                      const struct tensor *fill, bool before, bool after);

/* The flow of input i of n: where the op checks its numbers, those of frames outside the sequence
 * are 0, so that nothing is wrong with them. */
rill_status flow_checked(struct pulser *p, const struct node *n, unsigned i, struct flow *f);

struct flow_pad {
    int mode;                  /* enum pulse_pad_mode */
    int64_t before, after;     /* negative: frames taken away */
    const struct tensor *fill; /* CONSTANT; NULL: zeros */
    uint32_t head, tail; /* VALUES: dst wires of `before` and `after` frames; WIRE_NONE where 0 */
};

/* The padded sequence; sf.length is left to pulser_bind. */
rill_status flow_pad(struct pulser *p, const struct node *n, struct flow *f,
                     const struct flow_pad *pad);

/* f padded behind by copies: of its last frames, and where it has fewer of the given ones in front
 * of it, which stay there. */
rill_status flow_tail(struct pulser *p, const struct node *n, struct flow *f,
                      const struct padded *heads, const struct flow_pad *pad);

/* A wire that is the sequence of `inner` with `before` and `after` frames of fill (NULL: zeros) at
 * its ends. Who reads windows of it takes inner and widens the windows: that is no frame later, the
 * padded sequence may be. An inner one of less than 0 frames lacks
 * so many of those before it: of a sequence that is cut behind. */
bool flow_fill_same(const struct tensor *a, const struct tensor *b); /* NULL: zeros */

struct padded {
    bool is;
    struct flow inner;
    int64_t before, after;
    const struct tensor *fill;
    int mode; /* enum pulse_pad_mode; of EDGE and REFLECT the frames are those of the sequence */
    uint32_t head, tail; /* of VALUES */
    int64_t inputs;      /* that have come when the head has, which is made of kept frames; or 0 */
    const int64_t *come; /* when each frame of the head has; NULL: all do at once */
};

bool padded_by_copies(const struct padded *q);
/* By what frame 0 of windows of 1 + span frames of the padded sequence must be late for the heads
 * that they read to be there; in frames of it. */
int64_t padded_heads_delay(const struct padded *q, int64_t span);
/* The same of the frames themselves, without the first `from` of them; INT64_MIN: it is at any
 * time. */
int64_t padded_rest_delay(const struct padded *q, int64_t from);
/* How many input frames have come when frame i of those in front, or of the sequence behind them,
 * has; given frames. */
int64_t padded_come(const struct padded *q, int64_t i);
/* The same of frames that are made of num of the first of each den. */
rill_status padded_come_spread(struct pulser *p, const struct padded *q, int64_t num, int64_t den,
                               const int64_t **ret);
/* The same of n frames that are picked. */
rill_status padded_come_at(struct pulser *p, const struct padded *q, const int64_t *at, int64_t n,
                           const int64_t **ret);
/* How many input frames have come when all that is in front has; 0: it is made of none. */
int64_t padded_heads_inputs(const struct padded *q);
/* By how many frames what is behind all that is in front must be late for that to be there. */
int64_t padded_heads_late(const struct padded *q);
/* All that is in front of the sequence is there at every length: no sequence is cut by more frames
 * than it has. */
bool padded_heads_there(const struct pulser *p, const struct padded *q);
/* The same, or nothing is there at all. */
bool padded_heads_or_none(const struct pulser *p, const struct padded *q);
/* All are there, or those that lack do so in sequences that have ended when what is in front of
 * them comes: these have fewer frames than it is made of. */
bool padded_heads_come(const struct pulser *p, const struct padded *q);
/* All are there, or nothing is behind the sequence that would stand in the place of those in front.
 */
bool padded_heads_whole(const struct pulser *p, const struct padded *q);
/* The sequence inside is as long as output k of n, which q pads it to be, and what pads it leave.
 */
void padded_measure(const struct pulser *p, const struct node *n, unsigned k, struct padded *q);
/* Each frame in front of q is made of that of the other, too. */
rill_status padded_heads_join(struct pulser *p, struct padded *q, const struct padded *other);

/* The `frames` frames that pad a sequence at one of its ends, as a dst wire: those given, or of its
 * fill. */
rill_status padded_frames(struct pulser *p, const struct node *n, const struct padded *q,
                          int64_t frames, uint32_t given, uint32_t *ret);
/* What is left of a padded sequence of which `first` frames are cut off in front, and some behind
 * so that output 0 of n is left: is false where it is cut elsewhere than in its pads, or behind, or
 * in frames that are copies of those that are cut. */
rill_status padded_cut(struct pulser *p, const struct node *n, int64_t first, struct padded *q);
/* The sequence that is padded by `all` of f, all->inner; no earlier than its heads are known. */
rill_status padded_put(struct pulser *p, const struct node *n, const struct padded *all,
                       struct flow *f);
/* Whether frames that are known around the padded sequence, `after` of them behind it, may be
 * joined to those that pad it, and what reads windows of it is earlier then. */
bool padded_joins(const struct pulser *p, uint32_t src_wire, int64_t after);
/* *ret: what the padded src_wire is padded by, and what `around` puts around that, for node n. */
rill_status padded_join(struct pulser *p, const struct node *n, uint32_t src_wire,
                        const struct padded *around, struct padded *ret);
#define PADDED_GIVEN_MAX 1024
#define PADDED_KEPT_MAX 64 /* of the sequence itself: what is made of them is made in every run */
/* Whether so many frames in front may be run over apart from the sequence. Those that are made of
 * it, `kept`, are in every run, only where an output comes earlier by it. */
bool padded_apart(struct pulser *p, int64_t before, bool kept);
/* q, with all that pads it of that length, as if only `before` given frames were in front of the
 * sequence and none behind: the others are put to it. 1 to so many frames; in no body, where they
 * are copies. */
rill_status padded_given(struct pulser *p, const struct node *n, const struct dim *length,
                         int64_t before, struct padded *q);
/* The first `skip` frames of those in front of it are left out. */
rill_status padded_skip(struct pulser *p, const struct node *n, struct padded *q, int64_t skip);
/* So many first frames of the sequence inside stand in front of it, too, behind given frames. */
rill_status padded_take(struct pulser *p, const struct node *n, int64_t frames, struct padded *q);

/* So many frames in each run of what q pads f to be, the first where a pulse begins, frame 0 so
 * late.
 */
rill_status flow_padded(struct pulser *p, const struct node *n, struct flow *f,
                        const struct padded *q, int64_t delay, int64_t frames);

/* Takes the flow of a wire, that in front of a pad of zeros where there is one; ret_before and
 * ret_after: its frames. It lies where the padded sequence was found to lie: what was padded is
 * windows over that, whatever is between. */
bool flow_of_windowed(const struct pulser *p, uint32_t src_wire, struct flow *ret,
                      int64_t *ret_before, int64_t *ret_after);

/* Windows over the sequence: output frame t covers input frames t*stride - before .. + span. Frames
 * before the first and, where `after` (frames that a window may reach past the end) is not 0, past
 * the end are fill. */
struct flow_window {
    int64_t before, after, span, stride;
    const struct tensor *fill;
    const struct padded *copies; /* NULL, or what pads the sequence, beside which there is none */
};

/* Windows w over f, the flow of input 0 of n, become wider ones over what was padded there, unless
 * they have pads beside copies of frames. Offsets are those that f has. */
rill_status flow_unpad(struct pulser *p, const struct node *n, struct flow *f,
                       struct flow_window *w);

/* f->wire gets exactly the (pulse/stride - 1)*stride + span + 1 frames that one run's windows
 * cover, f->sf becomes that of the output frames. */
rill_status flow_windows(struct pulser *p, const struct node *n, struct flow *f,
                         const struct flow_window *w);

/* One frame takes num/den times as many input frames as before. */
void flow_scale(struct stream_fact *s, int64_t num, int64_t den);

/* Frames first, first + step, .. of input 0 of n, whose flow f is, up to where output k ends: of
 * what is padded, out of what is in front of the pad where they come earlier. */
rill_status flow_picked(struct pulser *p, const struct node *n, unsigned k, struct flow *f,
                        int64_t first, int64_t step);

/* Refuses operands of n that have a and b frames where those are not as many for every length of
 * the stream: of one frame a node would make copies. */
rill_status pulser_lengths_same(const struct pulser *p, const struct node *n, const struct dim *a,
                                const struct dim *b);

/* Dst wires of all inputs, with streaming ones aligned to the largest delay; ret_sf: the first
 * streaming input's fact with that delay. Refuses streaming inputs of different rates. */
rill_status pulser_align(struct pulser *p, const struct node *n, uint32_t *ret_in,
                         struct stream_fact *ret_sf, unsigned *ret_first);
#endif
