/* SPDX-License-Identifier: MIT */
#include "tools/run_daemon.h"
#include "clients/c/rill_client.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_ID 1
#define TIMEOUT_MS 60000 /* a model may have to be loaded */

/* An input that is sent, or an output that comes: frames of a tensor with time cut out. */
struct lane_data {
    const struct rill_client_port *port;
    enum dtype type;
    uint8_t *frames;
    size_t n_frames, bytes, cap_bytes, sent_frames;
};

struct job {
    const struct run_daemon *r;
    struct rill_client *c;
    const struct rill_client_port *ports;
    size_t n_ports;
    struct lane_data *data; /* of each port */
    struct arena arena;
    struct dims *dims;
    struct graph g; /* the inputs alone, as facts */
    struct run_inputs given;
    struct npz want, made;
    bool no_memory;
    rill_error *err;
};

static rill_status no_memory(struct job *j)
{
    return err_set(j->err, RILL_NOMEM, "out of memory");
}

static rill_status refused(struct job *j, rill_status s)
{
    return err_set(j->err, s, "%s: %s", j->r->socket, rill_client_error(j->c));
}

/* ---- ports as tensors ---- */

static enum dtype dtype_of(enum rill_client_type t)
{
    static const enum dtype types[] = {
        [RILL_CLIENT_TYPE_F32] = DTYPE_F32,   [RILL_CLIENT_TYPE_F64] = DTYPE_F64,
        [RILL_CLIENT_TYPE_I8] = DTYPE_I8,     [RILL_CLIENT_TYPE_I16] = DTYPE_I16,
        [RILL_CLIENT_TYPE_I32] = DTYPE_I32,   [RILL_CLIENT_TYPE_I64] = DTYPE_I64,
        [RILL_CLIENT_TYPE_U8] = DTYPE_U8,     [RILL_CLIENT_TYPE_U16] = DTYPE_U16,
        [RILL_CLIENT_TYPE_U32] = DTYPE_U32,   [RILL_CLIENT_TYPE_U64] = DTYPE_U64,
        [RILL_CLIENT_TYPE_BOOL] = DTYPE_BOOL, [RILL_CLIENT_TYPE_I4] = DTYPE_I4,
        [RILL_CLIENT_TYPE_U4] = DTYPE_U4,     [RILL_CLIENT_TYPE_I2] = DTYPE_I2,
        [RILL_CLIENT_TYPE_U2] = DTYPE_U2,
    };
    return (size_t) t < sizeof types / sizeof *types ? types[t] : DTYPE_NONE;
}

static bool has_time(const struct rill_client_port *p)
{
    return p->hop_num != 0;
}

/* The axes of the whole tensor: those of a frame, and time of so many frames. */
static int whole_dims(const struct rill_client_port *p, int64_t n_frames, int64_t dim[RANK_MAX])
{
    int rank = 0;
    for (uint32_t i = 0; i <= p->n_dims && rank < RANK_MAX; i++) {
        if (has_time(p) && i == p->time_axis)
            dim[rank++] = n_frames;
        if (i < p->n_dims && rank < RANK_MAX)
            dim[rank++] = p->dims[i];
    }
    return rank;
}

/* Copies between a tensor and frames, where time stands behind `outer` pieces of a frame. */
static void frames_copy(const struct rill_client_port *p, uint8_t *tensor, uint8_t *frames,
                        size_t n_frames, bool to_frames)
{
    size_t outer = 1, inner;
    for (uint32_t i = 0; has_time(p) && i < p->time_axis && i < p->n_dims; i++)
        outer *= p->dims[i];
    inner = p->frame_bytes / outer;
    for (size_t o = 0; o < outer; o++)
        for (size_t t = 0; t < n_frames; t++) {
            uint8_t *a = tensor + (o * n_frames + t) * inner,
                    *b = frames + t * p->frame_bytes + o * inner;
            memcpy(to_frames ? b : a, to_frames ? a : b, inner);
        }
}

static rill_status graph_of_inputs(struct job *j)
{
    j->dims = dims_new();
    if (!j->dims)
        return no_memory(j);
    graph_init(&j->g, &j->arena, j->dims, j->r->model);
    for (size_t i = 0; i < j->n_ports; i++) {
        const struct rill_client_port *p = &j->ports[i];
        struct fact f = { .type = dtype_of(p->type) };
        int64_t dim[RANK_MAX];
        char symbol[40] = "T";
        if (!p->is_input)
            continue;
        if (p->hop_num != 1 || p->hop_den != 1)
            snprintf(symbol, sizeof symbol, "T%zu", i);
        f.rank = whole_dims(p, -1, dim);
        for (int k = 0; k < f.rank; k++)
            f.shape[k] = dim[k] < 0 ? dim_symbol(j->dims, symbol) : dim_int(j->dims, dim[k]);
        if (graph_add_input(&j->g, p->name, &f) == WIRE_NONE)
            return no_memory(j);
    }
    return dims_status(j->dims, j->err);
}

/* ---- what comes ---- */

static void on_frames(void *arg, const struct rill_client_frames *f)
{
    struct job *j = arg;
    for (size_t i = 0; i < j->n_ports; i++) {
        struct lane_data *d = &j->data[i];
        if (j->ports[i].is_input || strcmp(j->ports[i].name, f->port) != 0)
            continue;
        if (d->bytes + f->bytes > d->cap_bytes) {
            size_t cap = 2 * (d->bytes + f->bytes);
            uint8_t *more = realloc(d->frames, cap);
            j->no_memory |= !more;
            if (!more)
                return;
            d->frames = more;
            d->cap_bytes = cap;
        }
        memcpy(d->frames + d->bytes, f->data, f->bytes);
        d->bytes += f->bytes;
        return;
    }
}

/* ---- what goes ---- */

static rill_status input_make(struct job *j, uint32_t k, struct lane_data *d)
{
    const struct rill_client_port *p = d->port;
    const struct tensor *t;
    TRY(run_input_at(&j->given, &j->g, k, 0, &j->arena, &t, j->err));
    d->n_frames = has_time(p) ? (size_t) t->dim[p->time_axis] : 1;
    d->frames = malloc(d->n_frames * p->frame_bytes + 1);
    if (!d->frames)
        return no_memory(j);
    frames_copy(p, t->data, d->frames, d->n_frames, true);
    return RILL_OK;
}

static rill_status inputs_make(struct job *j)
{
    uint32_t k = 0;
    j->given.n_in = j->g.n_inputs;
    for (unsigned i = 0; i < j->r->inputs->n; i++)
        TRY(run_inputs_read(&j->given, &j->g, j->r->inputs->item[i], j->err));
    for (size_t i = 0; i < j->n_ports; i++)
        if (j->ports[i].is_input)
            TRY(input_make(j, k++, &j->data[i]));
    return RILL_OK;
}

/* Frames of all inputs side by side, as far as credit goes; *ret_left: that there are more. */
static int inputs_send(struct job *j, bool beside, bool *ret_left, size_t *ret_sent)
{
    *ret_left = false;
    *ret_sent = 0;
    for (size_t i = 0; i < j->n_ports; i++) {
        struct lane_data *d = &j->data[i];
        size_t n;
        if (!j->ports[i].is_input || j->ports[i].is_set != beside)
            continue;
        if (rill_client_push_some(j->c, STREAM_ID, d->port->name, d->port->type,
                                  d->frames + d->sent_frames * d->port->frame_bytes,
                                  d->n_frames - d->sent_frames, &n) < 0)
            return -1;
        d->sent_frames += n;
        *ret_sent += n;
        *ret_left |= d->sent_frames < d->n_frames;
    }
    return 0;
}

static rill_status stream_run(struct job *j, bool *ret_refused)
{
    for (int beside = 1; beside >= 0; beside--) {
        bool left = true;
        size_t sent;
        while (left) {
            if (inputs_send(j, beside, &left, &sent) < 0 ||
                (left && !sent && rill_client_poll(j->c, TIMEOUT_MS) <= 0)) {
                *ret_refused = rill_client_error_code(j->c) != 0;
                return refused(j, RILL_IO);
            }
        }
    }
    if (rill_client_finish(j->c, STREAM_ID, NULL) == 0)
        return j->no_memory ? no_memory(j) : RILL_OK;
    *ret_refused = rill_client_error_code(j->c) != 0;
    return refused(j, RILL_IO);
}

/* ---- what came of it ---- */

/* An output that does not run along time comes with every run; what it is at the end counts. */
static rill_status output_make(struct job *j, const struct lane_data *d)
{
    const struct rill_client_port *p = d->port;
    size_t n = d->bytes / p->frame_bytes, first = has_time(p) || !n ? 0 : n - 1;
    int64_t dim[RANK_MAX];
    int rank = whole_dims(p, (int64_t) n, dim);
    struct tensor *t = tensor_new(&j->arena, d->type, rank, dim);
    if (!has_time(p) && !n)
        return err_set(j->err, RILL_INVALID, "the model did not run, so '%.80s' has no value",
                       p->name);
    if (!t || !npz_add(&j->made, &j->arena, p->name, t))
        return no_memory(j);
    if (n)
        frames_copy(p, t->data, d->frames + first * p->frame_bytes, n - first, false);
    return RILL_OK;
}

static rill_status outputs_tell(struct job *j)
{
    const struct run_daemon *r = j->r;
    struct run_compared *list = arena_array(&j->arena, struct run_compared, j->n_ports + 1);
    if (!list)
        return no_memory(j);
    for (size_t i = 0; i < j->n_ports; i++)
        if (!j->ports[i].is_input)
            TRY(output_make(j, &j->data[i]));
    for (uint32_t i = 0; i < j->made.n; i++) {
        const struct npz_array *a = &j->made.list[i];
        list[i] = (struct run_compared) { .name = a->name, .want = npz_find(&j->want, a->name) };
        if (list[i].want)
            run_compare(&list[i], a->t, 0, 1, &r->tolerance);
        if (!r->reference)
            run_wire_print(a->name, a->t);
    }
    if (r->out)
        TRY(npz_write(&j->made, r->out, j->err));
    return r->reference && run_compared_print(list, j->made.n, j->made.n, &j->want, NULL) != TOOL_OK
        ? RILL_END
        : RILL_OK;
}

static rill_status job_run(struct job *j, bool *ret_refused)
{
    const struct run_daemon *r = j->r;
    const struct rill_client_open_ports o = { .model = r->model, .pace = RILL_CLIENT_FILE };
    if (r->reference) {
        rill_status s = npz_read(&j->want, &j->arena, r->reference, j->err);
        if (s != RILL_OK)
            return err_prefix(j->err, s, "%.200s", r->reference);
    }
    if (rill_client_connect(&j->c, r->socket, "rill run", TIMEOUT_MS) < 0)
        return refused(j, RILL_IO);
    rill_client_set_frames(j->c, on_frames, j);
    if (rill_client_open_ports(j->c, STREAM_ID, &o) < 0) {
        *ret_refused = rill_client_error_code(j->c) != 0;
        return refused(j, RILL_IO);
    }
    j->n_ports = rill_client_ports(j->c, STREAM_ID, &j->ports);
    j->data = calloc(j->n_ports + 1, sizeof *j->data);
    if (!j->data)
        return no_memory(j);
    for (size_t i = 0; i < j->n_ports; i++) {
        j->data[i] =
            (struct lane_data) { .port = &j->ports[i], .type = dtype_of(j->ports[i].type) };
        if (!j->ports[i].is_input)
            continue;
        if (!strcmp(j->ports[i].kind, "audio") && !j->given.rate)
            j->given.rate =
                j->ports[i].rate_num / (j->ports[i].rate_den ? j->ports[i].rate_den : 1);
    }
    TRY(graph_of_inputs(j));
    TRY(inputs_make(j));
    /* Names of ports are the stream's, which ends now. */
    struct rill_client_port *kept = arena_array(&j->arena, struct rill_client_port, j->n_ports + 1);
    if (!kept)
        return no_memory(j);
    for (size_t i = 0; i < j->n_ports; i++) {
        kept[i] = j->ports[i];
        kept[i].name = arena_printf(&j->arena, "%s", j->ports[i].name);
        uint32_t *dims = arena_array(&j->arena, uint32_t, kept[i].n_dims + 1u);
        if (!kept[i].name || !dims)
            return no_memory(j);
        for (uint32_t k = 0; k < kept[i].n_dims; k++)
            dims[k] = j->ports[i].dims[k];
        kept[i].dims = dims;
        j->data[i].port = &kept[i];
    }
    j->ports = kept;
    TRY(stream_run(j, ret_refused));
    return outputs_tell(j);
}

rill_status run_daemon(const struct run_daemon *r, bool *ret_refused, rill_error *reterr)
{
    struct job j = { .r = r, .err = reterr };
    *ret_refused = false;
    j.given = (struct run_inputs) { .arena = &j.arena, .seed = r->seed, .steps = 1 };
    rill_status s = r->out ? npz_check(reterr) : RILL_OK;
    s = s == RILL_OK ? job_run(&j, ret_refused) : err_prefix(reterr, s, "%.200s", r->out);
    for (size_t i = 0; j.data && i < j.n_ports; i++)
        free(j.data[i].frames);
    free(j.data);
    rill_client_free(j.c);
    dims_free(j.dims);
    arena_drop(&j.arena);
    return s;
}
