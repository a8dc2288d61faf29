/* SPDX-License-Identifier: MIT */
#include "daemon/compute/ports.h"
#include "daemon/base/clock.h"
#include "daemon/compute/lane_internal.h"
#include "daemon/compute/plan_ports.h"

#include <stdio.h>

#define RING_BYTES 262144u /* of all inputs, and of all outputs, where their pulses are smaller */
#define PULSE_BYTES_MAX (64 << 20)

/* ---- making ---- */

unsigned ports_clock(const rill_port *ports, unsigned n)
{
    for (unsigned i = 0; i < n && ports[i].is_input; i++)
        if (ports[i].hop_num)
            return i;
    return 0;
}

bool ports_check(const rill_port *ports, unsigned n, char text[300])
{
    if (!n || !ports[0].is_input) {
        snprintf(text, 300, "the model has no input, so nothing streams");
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        const rill_port *q = &ports[i];
        double bytes = (double) q->pulse_frames * q->width * q->element_bytes;
        if (bytes >= 1 && bytes <= PULSE_BYTES_MAX)
            continue;
        snprintf(text, 300,
                 "a pulse of port '%.80s' is %u frames of %u %s, which are %.0f bytes; a stream "
                 "takes 1 to 64 MiB",
                 q->name, q->pulse_frames, q->width, rill_type_name(q->type), bytes);
        return false;
    }
    return true;
}

double lane_ports_pulse_us(const rill_port *ports, unsigned n, unsigned clock)
{
    const rill_port *p = &ports[clock];
    return n && p->rate_num && p->rate_den
        ? 1e6 * (double) p->pulse_frames * (double) p->rate_den / (double) p->rate_num
        : 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Four pulses, or what the client of a file may be ahead. */
static size_t window_frames(const struct lane_port *q, unsigned n_like,
                            const struct lane_ports_opts *o)
{
    uint64_t pulses = (uint64_t) q->info.pulse_frames * PORTS_PULSES_WAIT,
             ms = q->info.rate_num
        ? (uint64_t) o->window_ms * q->info.rate_num / q->info.rate_den / 1000
        : 0,
             file = RING_BYTES / n_like / q->frame_bytes;
    if (q->is_set)
        return PORTS_SETS_MAX;
    return (size_t) larger(pulses, o->live ? ms : file);
}

/* Everything of a port but its ring. */
static void port_describe(const struct lane_ports *p, unsigned i, const rill_port *info,
                          const struct lane_ports_opts *o, struct lane_port *q)
{
    unsigned n_like = info->is_input ? p->n_in : p->n - p->n_in;
    q->info = *info;
    q->frame_bytes = (size_t) info->width * info->element_bytes;
    q->is_set = info->is_input && !info->hop_num && !p->is_timeless;
    q->is_wanted = !info->is_input && o->is_wanted[i];
    q->window_frames = window_frames(q, n_like, o);
}

static void ports_count(struct lane_ports *p, const rill_port *info)
{
    while (p->n_in < p->n && info[p->n_in].is_input)
        p->n_in++;
    p->clock = ports_clock(info, p->n);
    p->is_timeless = !p->n_in || !info[p->clock].hop_num;
}

static size_t command_bytes(const struct lane_ports *p)
{
    return (1 + p->n_in) * sizeof(uint64_t);
}

/* Commands that a lane with so many inputs beside the stream has room for. */
static size_t commands_most(size_t n_set)
{
    return ring_cap(n_set * PORTS_SETS_MAX + PORTS_RESETS_MAX);
}

size_t lane_ports_most(const rill_port *info, unsigned n, const struct lane_ports_opts *o)
{
    struct lane_ports p = { .n = n };
    size_t bytes = 0, pulse = 0, n_set = 0;
    ports_count(&p, info);
    for (unsigned i = 0; i < n; i++) {
        struct lane_port q = { .frame_bytes = 0 };
        port_describe(&p, i, &info[i], o, &q);
        if (info[i].is_input || q.is_wanted)
            bytes += ring_cap(q.window_frames * q.frame_bytes);
        pulse = larger(pulse, info[i].pulse_frames * q.frame_bytes);
        n_set += q.is_set;
    }
    return bytes + pulse + commands_most(n_set) * command_bytes(&p);
}

/* Frames that the first run of a sequence does not wait for. */
static size_t lead_in_of(const struct lane_port *q)
{
    return q->info.is_input ? q->info.pulse_frames - (size_t) q->info.first_frames : 0;
}

static bool ports_make(struct lane_ports *p, const rill_port *info, const struct lane_ports_opts *o)
{
    unsigned n_set = 0;
    ports_count(p, info);
    p->list = calloc(p->n + 1u, sizeof *p->list);
    for (unsigned i = 0; p->list && i < p->n; i++) {
        struct lane_port *q = &p->list[i];
        port_describe(p, i, &info[i], o, q);
        q->fill = lead_in_of(q);
        p->frames_bytes = larger(p->frames_bytes, info[i].pulse_frames * q->frame_bytes);
        if ((info[i].is_input || q->is_wanted) &&
            !ring_init(&q->ring, 1, q->window_frames * q->frame_bytes))
            return false;
        n_set += q->is_set;
    }
    p->command = malloc(command_bytes(p));
    p->frames = malloc(p->frames_bytes + 1);
    return p->list && p->command && p->frames &&
        ring_init(&p->commands, command_bytes(p), commands_most(n_set));
}

struct lane_ports *lane_ports_new(const rill_plan *plan, const struct lane_ports_opts *o)
{
    struct lane_ports *p = calloc(1, sizeof *p);
    rill_port *info = p ? plan_ports(plan, &p->n) : NULL;
    bool good = info && ports_make(p, info, o);
    free(info);
    return good ? p : lane_ports_free(p);
}

struct lane_ports *lane_ports_free(struct lane_ports *p)
{
    if (!p)
        return NULL;
    for (unsigned i = 0; p->list && i < p->n; i++)
        ring_free(&p->list[i].ring);
    ring_free(&p->commands);
    free(p->list);
    free(p->command);
    free(p->frames);
    free(p);
    return NULL;
}

size_t lane_ports_bytes(const struct lane_ports *p)
{
    if (!p)
        return 0;
    size_t bytes = sizeof *p + p->n * sizeof *p->list + ring_bytes(&p->commands) + p->frames_bytes;
    for (unsigned i = 0; i < p->n; i++)
        bytes += ring_bytes(&p->list[i].ring);
    return bytes;
}

bool ports_stream_make(struct lane *l)
{
    struct lane_ports *p = l->ports;
    size_t bytes = (rill_plan_stream_size(l->model->plan) + 63) & ~(size_t) 63;
    unsigned *wanted = calloc(p->n + 1u, sizeof *wanted), n = 0;
    l->mem = aligned_alloc(64, bytes ? bytes : 64);
    for (unsigned i = p->n_in; wanted && i < p->n; i++)
        if (p->list[i].is_wanted)
            wanted[n++] = i;
    if (wanted && l->mem) {
        memset(l->mem, 0, bytes);
        l->stream = rill_stream_init_for(l->mem, l->model->plan, wanted, n);
    }
    free(wanted);
    return l->stream != NULL;
}

/* ---- what the loop asks ---- */

bool lane_ports_command(struct lane_ports *p, const struct lane_command *c)
{
    size_t n_set = 0;
    for (unsigned i = 0; i < p->n_in; i++)
        n_set += p->list[i].is_set;
    if (ring_room(&p->commands) <= (c->port == COMMAND_RESET ? n_set * PORTS_SETS_MAX : 0))
        return false;
    ring_write(&p->commands, c, 1);
    return true;
}

/* ---- frames in ---- */

/* Frames of an input that came before the next command; a command that is seen later lies behind
 * what was counted here, since frames are looked at first. */
static size_t frames_waiting(const struct lane_ports *p, unsigned i, size_t used, bool has_command)
{
    const struct lane_port *q = &p->list[i];
    uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed),
             n = used / q->frame_bytes;
    uint64_t most = has_command ? p->command->counts[i] - taken : UINT64_MAX;
    return (size_t) (n < most ? n : most);
}

static bool command_peek(struct lane_ports *p)
{
    if (!ring_used(&p->commands))
        return false;
    ring_peek(&p->commands, p->command, 1);
    return true;
}

static void taken_add(struct lane *l, struct lane_port *q, size_t n)
{
    uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed) + n;
    ring_drop(&q->ring, n * q->frame_bytes);
    if (q == &l->ports->list[l->ports->clock]) {
        lane_arrivals_pass(l, taken);
        atomic_store_explicit(&l->consumed, taken, memory_order_release);
    }
    atomic_store_explicit(&q->taken, taken, memory_order_release);
}

/* As many frames as the next run lacks, and what the stream takes past it, of an input that is
 * longer than others. How many it took. */
static size_t port_push(struct lane *l, unsigned i, size_t waits)
{
    struct lane_port *q = &l->ports->list[i];
    size_t pulse = q->info.pulse_frames, most = q->fill < pulse ? pulse - q->fill : pulse,
           n = waits < most ? waits : most, took = 0;
    if (!n || q->is_full)
        return 0;
    ring_peek(&q->ring, l->ports->frames, n * q->frame_bytes);
    if (rill_stream_push(l->stream, i, l->ports->frames, n, &took) != RILL_OK)
        return 0;
    q->is_full = q->fill + took >= pulse && took < n;
    q->fill += took;
    q->seg_taken += took;
    taken_add(l, q, took);
    return took;
}

/* True if the stream took any. */
static bool inputs_push(struct lane *l)
{
    struct lane_ports *p = l->ports;
    bool took = false;
    for (unsigned i = 0; i < p->n_in; i++) {
        if (p->list[i].is_set)
            continue;
        size_t used = ring_used(&p->list[i].ring);
        took |= port_push(l, i, frames_waiting(p, i, used, command_peek(p))) > 0;
    }
    return took;
}

/* ---- frames out ---- */

/* False: a ring has no room for all frames that there are. */
static bool output_take(struct lane *l, unsigned i)
{
    struct lane_port *q = &l->ports->list[i];
    for (size_t given = 1; given;) {
        size_t room = ring_room(&q->ring) / q->frame_bytes, most = q->info.pulse_frames;
        if (!room)
            return false;
        if (rill_stream_pull(l->stream, i, l->ports->frames, room < most ? room : most, &given) !=
            RILL_OK)
            return true;
        ring_write(&q->ring, l->ports->frames, given * q->frame_bytes);
        l->ports->is_untold |= given > 0;
    }
    return true;
}

static bool outputs_take(struct lane *l)
{
    bool all = true;
    for (unsigned i = l->ports->n_in; i < l->ports->n; i++)
        if (l->ports->list[i].is_wanted)
            all &= output_take(l, i);
    l->ports->is_left = !all;
    return all;
}

/* Frames that the last run left, as far as there is room by now; the loop sends what a record tells
 * of. */
static bool rest_take(struct lane *l, enum lane_result *ret)
{
    struct lane_ports *p = l->ports;
    bool all = outputs_take(l);
    if (p->is_untold) {
        struct lane_rec r = { .kind = LANE_PULSE };
        r.pos = atomic_load_explicit(&l->consumed, memory_order_relaxed);
        p->is_untold = false;
        ring_write(&l->recs, &r, 1);
        *ret = LANE_WORKED;
    }
    return all;
}

/* ---- steps ---- */

static bool inputs_are_full(const struct lane_ports *p)
{
    for (unsigned i = 0; i < p->n_in; i++)
        if (!p->list[i].is_set && p->list[i].fill < p->list[i].info.pulse_frames)
            return false;
    return true;
}

/* Of the frames that were set since the last run only the newest gets here. */
static void sets_push(struct lane *l)
{
    struct lane_ports *p = l->ports;
    for (unsigned i = 0; i < p->n_in; i++) {
        struct lane_port *q = &p->list[i];
        size_t took;
        if (!q->set_waits)
            continue;
        q->set_waits = false;
        ring_peek(&q->ring, p->frames, q->frame_bytes);
        rill_stream_push(l->stream, i, p->frames, 1, &took);
        taken_add(l, q, 1);
    }
}

bool ports_begin(struct lane *l, enum lane_result *ret)
{
    struct lane_ports *p = l->ports;
    *ret = LANE_IDLE;
    l->missed_deadline = false;
    if (atomic_load_explicit(&l->cancel, memory_order_acquire)) {
        *ret = LANE_ENDED;
        return false;
    }
    p->waits_for_read &= ring_used(&l->recs) > 0;
    if (p->waits_for_read || ring_room(&l->recs) < RECS_SPARE || !rest_take(l, ret))
        return false;
    if (l->phase == FEED && inputs_push(l))
        *ret = LANE_WORKED;
    if (l->phase != FEED || inputs_are_full(p))
        sets_push(l);
    return true;
}

void ports_end(struct lane *l, struct lane_rec *rec)
{
    for (unsigned i = 0; i < l->ports->n_in; i++) {
        struct lane_port *q = &l->ports->list[i];
        q->fill -= q->fill < q->info.pulse_frames ? q->fill : q->info.pulse_frames;
        q->is_full = false;
    }
    rec->pos = atomic_load_explicit(&l->consumed, memory_order_relaxed);
    outputs_take(l);
    l->ports->is_untold = false; /* *rec tells */
}

static void segment_finish(struct lane *l, bool is_resetting)
{
    l->ports->is_resetting = is_resetting;
    l->arrival_us = clock_now_us();
    l->phase = DRAIN;
    rill_stream_finish(l->stream);
}

/* The next command holds from here on: no run is left that has all its frames from before it. */
static void command_obey(struct lane *l)
{
    struct lane_ports *p = l->ports;
    if (p->command->port == COMMAND_RESET) {
        segment_finish(l, true);
        return;
    }
    struct lane_port *q = &p->list[p->command->port];
    if (q->set_waits)
        taken_add(l, q, 1); /* what it takes the place of */
    q->set_waits = true;
    ring_drop(&p->commands, 1);
}

/* Frames that came before the reset and were not enough for a run are dropped. */
static void segment_reset(struct lane *l)
{
    struct lane_ports *p = l->ports;
    struct lane_rec r = { .kind = LANE_RESET };
    command_peek(p);
    for (unsigned i = 0; i < p->n_in; i++) {
        struct lane_port *q = &p->list[i];
        uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);
        if (p->command->counts[i] > taken)
            taken_add(l, q, (size_t) (p->command->counts[i] - taken));
        q->fill = lead_in_of(q);
        q->is_full = false;
        q->seg_taken = 0;
        q->set_waits = false;
    }
    ring_drop(&p->commands, 1);
    rill_stream_reset(l->stream);
    p->is_resetting = false;
    p->waits_for_read = true;
    l->phase = FEED;
    ring_write(&l->recs, &r, 1);
}

/* With those that no run could take. */
static void segment_count(struct lane_ports *p)
{
    bool has_command = p->is_resetting && command_peek(p);
    for (unsigned i = 0; i < p->n_in; i++) {
        struct lane_port *q = &p->list[i];
        q->seg_came = q->seg_taken + frames_waiting(p, i, ring_used(&q->ring), has_command);
    }
}

static bool input_is_even(const struct lane *l, unsigned i, rill_error *reterr)
{
    const struct lane_ports *p = l->ports;
    const struct lane_port *q = &p->list[i], *clock = &p->list[p->clock];
    return q->is_set || p->is_timeless ||
        rill_plan_check_even(l->model->plan, i, q->seg_came, p->clock, clock->seg_came, reterr) ==
        RILL_OK;
}

static bool input_fits(const struct lane *l, unsigned i, rill_error *reterr)
{
    const struct lane_port *q = &l->ports->list[i];
    if (q->is_set || l->ports->is_timeless)
        return true;
    if (q->seg_came > q->seg_taken) {
        snprintf(reterr->text, sizeof reterr->text,
                 "input '%.80s' goes on where another ends: of its %llu frames the model could "
                 "take %llu",
                 q->info.name, (unsigned long long) q->seg_came, (unsigned long long) q->seg_taken);
        return false;
    }
    return l->live || !q->seg_came ||
        rill_plan_check_length(l->model->plan, i, q->seg_came, reterr) == RILL_OK;
}

bool lane_ports_sequence(const struct lane *l, rill_error *reterr)
{
    for (unsigned i = 0; i < l->ports->n_in; i++)
        if (!input_is_even(l, i, reterr))
            return false;
    for (unsigned i = 0; i < l->ports->n_in; i++)
        if (!input_fits(l, i, reterr))
            return false;
    return true;
}

/* The lane ends at a sequence that is wrong, too: the loop tells why. */
static enum lane_result segment_end(struct lane *l)
{
    struct lane_ports *p = l->ports;
    struct lane_rec r = { .kind = LANE_DONE };
    rill_error err;
    segment_count(p);
    if (p->is_resetting && lane_ports_sequence(l, &err)) {
        segment_reset(l);
        return LANE_WORKED;
    }
    ring_write(&l->recs, &r, 1);
    return LANE_ENDED;
}

enum lane_result ports_starved(struct lane *l, rill_status status)
{
    if (l->phase != FEED)
        return status == RILL_END ? segment_end(l) : LANE_IDLE;
    /* The end first, then the command: what was written before it is seen after it. */
    bool finish = atomic_load_explicit(&l->finish, memory_order_acquire);
    bool has_command = command_peek(l->ports);
    if (inputs_push(l))
        return LANE_WORKED;
    if (has_command)
        command_obey(l);
    else if (finish)
        segment_finish(l, false);
    return has_command || finish ? LANE_WORKED : LANE_IDLE;
}

bool ports_are_due(const struct lane *l, bool *ret_part)
{
    const struct lane_ports *p = l->ports;
    bool due = true;
    *ret_part = false;
    if (l->phase != FEED || p->is_left || ring_used(&p->commands) ||
        atomic_load_explicit(&l->finish, memory_order_acquire))
        return true;
    for (unsigned i = 0; i < p->n_in; i++) {
        const struct lane_port *q = &p->list[i];
        size_t waits = ring_used(&q->ring) / q->frame_bytes;
        if (q->is_set)
            continue;
        *ret_part |= waits > 0;
        due &= q->fill + waits >= q->info.pulse_frames;
    }
    return due && p->n_in;
}
