/* SPDX-License-Identifier: MIT */
#include "lib/port.h"
#include "engine/base/dim_claims.h"
#include "engine/base/sized.h"
#include "pulse/offset.h"

#include <stddef.h>

static const char **names_of(struct arena *a, const struct graph *g, const uint32_t *wires,
                             uint32_t n)
{
    const char **names = arena_array(a, const char *, n + 1);
    for (uint32_t i = 0; names && i < n; i++)
        names[i] = g->wires[wires[i]].name;
    return names;
}

rill_status ports_name(rill_plan *p, rill_error *err)
{
    const struct graph *g = &p->model->typed.g;
    p->input_names = names_of(&p->arena, g, g->inputs, g->n_inputs);
    p->output_names = names_of(&p->arena, g, g->outputs, g->n_outputs);
    return p->input_names && p->output_names ? RILL_OK : err_set(err, RILL_NOMEM, "out of memory");
}

static rill_status port_type(struct port *q, enum dtype type, rill_error *err)
{
    const struct element *e = element_of(type);
    if (!e)
        return err_set(err, RILL_UNSUPPORTED, "port '%s' is %s; streams do not carry that",
                       q->info.name, dtype_name(type));
    if (q->info.kind != RILL_PORT_TENSOR && e->type != RILL_TYPE_F32)
        return err_set(err, RILL_UNSUPPORTED,
                       "port '%s' is %s, and model.conf says what its numbers mean, which is read "
                       "from f32 alone: leave its kind out, or cast it in the graph",
                       q->info.name, dtype_name(type));
    q->info.type = e->type;
    q->info.element_bytes = e->bytes;
    q->take = q->info.kind == RILL_PORT_AUDIO ? samples_take : e->take;
    return RILL_OK;
}

static rill_status port_shape(struct port *q, const struct plan_port *pp,
                              const struct stream_fact *sf, rill_error *err)
{
    TRY(port_type(q, pp->shape.type, err));
    q->outer = 1;
    q->inner = 1;
    for (int i = 0; i < pp->shape.rank; i++)
        *(i < sf->axis ? &q->outer : &q->inner) *= i == sf->axis ? 1 : (size_t) pp->shape.dim[i];
    q->shape = (rill_shape) { .rank = (uint32_t) pp->shape.rank,
                              .time_axis = (uint32_t) (sf->axis < 0 ? pp->shape.rank : sf->axis) };
    for (int i = 0; i < pp->shape.rank; i++)
        q->shape.dims[i] = i == sf->axis ? 1 : (uint32_t) pp->shape.dim[i];
    q->inner_bytes = q->inner * q->info.element_bytes;
    q->at = pp->at;
    q->bytes = tensor_bytes(&pp->shape);
    q->pulse = sf->axis < 0 ? 1 : sf->pulse;
    q->delay = sf->axis < 0 ? 0 : sf->delay;
    q->length = sf->axis < 0 ? NULL : sf->length;
    q->step = sf->axis < 0 ? 1 : sf->hop_den;
    return RILL_OK;
}

/* The time axis that the others are measured on: an input's frames for one of the stream symbol,
 * and how many of them there are in a second. */
struct input_clock {
    int64_t per_symbol;
    uint32_t rate;
};

static struct input_clock input_clock(const rill_plan *p, uint32_t n_inputs)
{
    struct input_clock c = { 0 };
    for (uint32_t i = 0; i < n_inputs; i++) {
        uint32_t rate = p->model->inputs ? p->model->inputs[i].rate : 0;
        if (p->pgraph.inputs[i].axis >= 0 && (!c.per_symbol || (rate && !c.rate)))
            c = (struct input_clock) { p->pgraph.inputs[i].hop_den, rate };
    }
    return c;
}

static rill_status port_time(struct port *q, const struct stream_fact *sf, int64_t lead_in,
                             const struct input_clock *c, rill_error *err)
{
    rill_port *r = &q->info;
    const struct ratio hop = ratio_times(ratio_of(sf->hop_num, sf->hop_den), c->per_symbol, 1);
    const struct ratio offset = ratio_times(sf->at.origin, c->per_symbol, 1);
    int64_t late = ratio_ceil(ratio_times(offset_latency(sf, lead_in), c->per_symbol, 1));
    int64_t rate = (int64_t) c->rate * hop.den;
    if (hop.num > UINT32_MAX || hop.den > UINT32_MAX || rate > UINT32_MAX || late > INT32_MAX ||
        offset.num > INT32_MAX || offset.num < -INT32_MAX || offset.den > UINT32_MAX)
        return err_set(err, RILL_LIMIT,
                       "port '%s': its rate, latency or offset takes more than 31 bits", r->name);
    r->hop_num = (uint32_t) hop.num;
    r->hop_den = (uint32_t) hop.den;
    r->rate_num = (uint32_t) rate;
    r->rate_den = (uint32_t) hop.num;
    r->latency_samples = late > 0 ? (uint32_t) late : 0;
    r->offset_num = (int32_t) offset.num;
    r->offset_den = (uint32_t) (offset.den ? offset.den : 1);
    return RILL_OK;
}

static rill_status port_make(rill_plan *p, uint32_t i, const struct input_clock *c, rill_error *err)
{
    bool in = i < p->n_inputs;
    uint32_t k = in ? i : i - p->n_inputs;
    const struct plan_port *pp = in ? &p->plan->inputs[k] : &p->plan->outputs[k];
    const struct stream_fact *sf = in ? &p->pgraph.inputs[k] : &p->pgraph.outputs[k];
    const struct model_port *list = in ? p->model->inputs : p->model->outputs;
    struct port *q = &p->ports[i];
    q->info = (rill_port) {
        .struct_bytes = sizeof q->info,
        .name = in ? p->input_names[k] : p->output_names[k],
        .kind = list ? list[k].kind : RILL_PORT_TENSOR,
        .is_input = in,
        .rate_den = 1,
        .hop_den = 1,
        .offset_den = 1,
    };
    TRY(port_shape(q, pp, sf, err));
    q->info.width = (uint32_t) (q->outer * q->inner);
    q->info.pulse_frames = (uint32_t) q->pulse;
    q->info.first_frames = in ? (uint64_t) (q->pulse - q->delay) : 0;
    if (sf->axis < 0)
        return RILL_OK;
    rill_alignment lie = { .struct_bytes = sizeof lie };
    TRY(port_time(q, sf, p->pgraph.lead_in, c, err));
    rill_port_align(&q->info, 0, &lie);
    q->info.delay_frames = (uint32_t) lie.cut_frames;
    return RILL_OK;
}

static bool ports_overlap(const struct port *in, const struct port *out)
{
    return !out->at.constant && out->at.offset < in->at.offset + in->bytes &&
        in->at.offset < out->at.offset + out->bytes;
}

/* The outputs whose frames an input's next ones would be written over. */
static rill_status held_by_list(rill_plan *p, struct port *in, rill_error *err)
{
    uint32_t n = 0;
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++)
        n += ports_overlap(in, &p->ports[i]);
    in->held_by = arena_array(&p->arena, uint32_t, n + 1);
    if (!in->held_by)
        return err_set(err, RILL_NOMEM, "out of memory");
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++)
        if (ports_overlap(in, &p->ports[i]))
            in->held_by[in->n_held_by++] = i;
    return RILL_OK;
}

#define AHEAD_BYTES_MAX ((int64_t) 1 << 30)

static bool at_zero_of(const rill_plan *p, const struct port *q, int64_t *ret)
{
    return q->length && p->symbol && dim_eval(q->length, p->symbol, 0, ret);
}

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Of inputs of which one goes on where another has ended (T + 2 frames beside T), what is left of
 * it behind the last pulse that all fill may be more than a pulse. */
static rill_status ahead_of(rill_plan *p, struct port *q, int64_t shortest, rill_error *err)
{
    int64_t at_zero, bytes = (int64_t) (q->outer * q->inner_bytes), over;
    if (!at_zero_of(p, q, &at_zero) || at_zero / q->step <= shortest)
        return RILL_OK;
    if (__builtin_mul_overflow(shortest + 1, q->step, &over) ||
        __builtin_sub_overflow(at_zero, over, &over) || over > AHEAD_BYTES_MAX / (bytes + 1))
        return err_set(
            err, RILL_LIMIT,
            "input '%s' goes on for %lld frames where another ends; a stream keeps 1 GiB of "
            "them",
            q->info.name, (long long) at_zero);
    q->ahead = over > 0 ? over : 0;
    q->ahead_offset = p->ahead_bytes;
    p->ahead_bytes += ((size_t) (q->ahead * bytes) + 63) & ~(size_t) 63;
    return RILL_OK;
}

static rill_status ports_ahead(rill_plan *p, rill_error *err)
{
    int64_t shortest = INT64_MAX, at_zero;
    for (uint32_t i = 0; i < p->n_inputs; i++)
        if (at_zero_of(p, &p->ports[i], &at_zero)) {
            int64_t n = floor_of(at_zero, p->ports[i].step);
            shortest = n < shortest ? n : shortest;
        }
    for (uint32_t i = 0; i < p->n_inputs; i++)
        TRY(ahead_of(p, &p->ports[i], shortest, err));
    return RILL_OK;
}

rill_status ports_from_plan(rill_plan *p, rill_error *err)
{
    uint32_t n_inputs = p->plan->n_inputs - p->pgraph.has_clock, n = n_inputs + p->plan->n_outputs;
    const struct input_clock c = input_clock(p, n_inputs);
    p->ports = arena_array(&p->arena, struct port, n + 1);
    if (!p->ports)
        return err_set(err, RILL_NOMEM, "out of memory");
    p->n_inputs = n_inputs;
    p->n_ports = n;
    for (uint32_t i = 0; i < n; i++)
        TRY(port_make(p, i, &c, err));
    for (uint32_t i = 0; i < n_inputs; i++)
        p->takes_frames |= p->ports[i].length != NULL;
    for (uint32_t i = 0; i < n_inputs; i++)
        TRY(held_by_list(p, &p->ports[i], err));
    TRY(ports_ahead(p, err));
    if (p->pgraph.has_clock)
        p->clock_offset = p->plan->inputs[n_inputs].at.offset;
    return RILL_OK;
}

_Static_assert(RILL_RANK_MAX == RANK_MAX, "a shape has room for every tensor");

/* Whether a caller of that age can know what it has to push and pull. */
static bool ports_tellable(const rill_plan *p, const struct sized_list *list)
{
    for (uint32_t i = 0; i < p->n_ports; i++)
        if (p->ports[i].info.type != RILL_TYPE_F32 &&
            list->bytes < offsetof(rill_port, first_frames))
            return false;
    return true;
}

unsigned rill_plan_ports(const rill_plan *p, rill_port *ports, unsigned cap)
{
    uint32_t n = cap < p->n_ports ? cap : p->n_ports;
    struct sized_list list;
    if (n && (sized_list(&list, &sized_port, ports) != RILL_OK || !ports_tellable(p, &list)))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        sized_list_give(&list, i, &p->ports[i].info);
    return p->n_ports;
}

rill_status rill_plan_port_shape(const rill_plan *p, unsigned port, rill_shape *ret)
{
    return port < p->n_ports ? sized_give(&sized_shape, ret, &p->ports[port].shape, NULL)
                             : RILL_INVALID;
}

/* ---- lengths of whole sequences ---- */

/* No output has a frame. */
static bool gives_nothing(const rill_plan *p, int64_t length)
{
    bool ret = true;
    for (uint32_t i = p->n_inputs; i < p->n_ports; i++) {
        int64_t frames = 1;
        const struct port *q = &p->ports[i];
        ret = ret && q->length && dim_eval(q->length, p->symbol, length, &frames) && frames <= 0;
    }
    return ret;
}

/* What does not hold of a length that is refused, and why it has to; NULL: it is taken. A sequence
 * too short for a window, of which nothing would come, is one like any other that ends early: where
 * a whole run gives something all the same, as pools do, that is a claim of another kind. */
static const char *length_broken(const rill_plan *p, int64_t length, const char **ret_why)
{
    static const char *const why[] = { [DIM_CLAIM_ASSERTED] = "asserted",
                                       [DIM_CLAIM_STREAMS] = "needed",
                                       [DIM_CLAIM_NEEDED] = "needed",
                                       [DIM_CLAIM_WINDOW] = "needed",
                                       [DIM_CLAIM_TABLE] = "as far as a table goes" };
    const struct dims *ds = p->model->dims;
    const struct dim *ge0;
    const char *text;
    const bool nothing = gives_nothing(p, length);
    for (unsigned i = 0; (text = dims_claim_at(ds, i, &ge0)) != NULL; i++) {
        const enum dim_claim_kind kind = dims_claim_kind(ds, i);
        int64_t least;
        *ret_why = why[kind];
        if (!(nothing && kind == DIM_CLAIM_WINDOW) && dim_eval(ge0, p->symbol, length, &least) &&
            least < 0)
            return text;
    }
    return NULL;
}

rill_status rill_plan_check_length(const rill_plan *p, unsigned port, uint64_t frames,
                                   rill_error *reterr)
{
    int64_t at_zero;
    char length[100];
    if (port >= p->n_inputs || frames > INT64_MAX)
        return err_set(reterr, RILL_INVALID, "port %u is no input, or the sequence too long", port);
    const struct port *q = &p->ports[port];
    if (!q->length || !p->symbol || !dim_eval(q->length, p->symbol, 0, &at_zero))
        return RILL_OK;
    int64_t n = (int64_t) frames - at_zero;
    const char *why = NULL,
               *broken = n >= 0 && n % q->step == 0 ? length_broken(p, n / q->step, &why) : NULL;
    if (broken)
        return err_set(reterr, RILL_INVALID,
                       "'%.120s' is %s, but does not hold of %llu frames of input '%.80s', where "
                       "%.40s is %lld",
                       broken, why, (unsigned long long) frames, q->info.name, dim_name(p->symbol),
                       (long long) (n / q->step));
    if (n >= 0 && n % q->step == 0)
        return RILL_OK;
    dim_print(q->length, length, sizeof length);
    return err_set(reterr, RILL_INVALID,
                   "input '%.80s' has %llu frames, but takes %s of them: %lld more would do",
                   q->info.name, (unsigned long long) frames, length,
                   (long long) (n < 0 ? -n : q->step - n % q->step));
}

/* ---- two inputs ---- */

/* The value of the stream symbol that so many frames make, whole steps only; false: it has none. */
static bool symbol_of(const rill_plan *p, const struct port *q, uint64_t frames, int64_t *ret,
                      int64_t *ret_at_zero)
{
    if (!q->length || !p->symbol || !dim_eval(q->length, p->symbol, 0, ret_at_zero))
        return false;
    int64_t n = (int64_t) frames - *ret_at_zero;
    *ret = n < 0 ? 0 : n / q->step;
    return true;
}

rill_status rill_plan_check_even(const rill_plan *p, unsigned port, uint64_t frames, unsigned other,
                                 uint64_t other_frames, rill_error *reterr)
{
    int64_t n, n_other, at_zero, other_at_zero;
    if (port >= p->n_inputs || other >= p->n_inputs || frames > INT64_MAX ||
        other_frames > INT64_MAX)
        return err_set(reterr, RILL_INVALID, "port %u or %u is no input, or a sequence too long",
                       port, other);
    const struct port *q = &p->ports[port], *o = &p->ports[other];
    if (!symbol_of(p, q, frames, &n, &at_zero) ||
        !symbol_of(p, o, other_frames, &n_other, &other_at_zero) || n == n_other)
        return RILL_OK;
    if (n < n_other)
        return rill_plan_check_even(p, other, other_frames, port, frames, reterr);
    return err_set(reterr, RILL_INVALID,
                   "input '%.80s' goes on where '%.80s' ends: of its %llu frames the model takes "
                   "%lld with the %llu of '%.80s'",
                   q->info.name, o->info.name, (unsigned long long) frames,
                   (long long) (n_other * q->step + at_zero), (unsigned long long) other_frames,
                   o->info.name);
}
