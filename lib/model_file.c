/* SPDX-License-Identifier: MIT */
#include "lib/model_file.h"
#include "engine/base/crew.h"
#include "models/port_kinds.h"

#include <stddef.h>
#include <string.h>

#define FILE_PORTS_MAX 4096

/* So many of each enum of rill.h. */
#define SCORE_KINDS (RILL_SCORES_PROBS + 1)
#define UNIT_KINDS (RILL_UNITS_CHARS + 1)
#define OVERLOAD_KINDS (RILL_OVERLOAD_SHED + 1)

/* Of rill_sink_opts. */
static const struct {
    size_t offset;
    bool is_text;
} sink_fields[] = {
/* clang-format off */
#define NUMBER(field) { offsetof(rill_sink_opts, field), false }
#define TEXT(field) { offsetof(rill_sink_opts, field), true }
    /* clang-format on */
    NUMBER(kind),
    TEXT(tokens),
    TEXT(words),
    TEXT(ignore),
    NUMBER(scores),
    NUMBER(units),
    NUMBER(rule1_ms),
    NUMBER(rule2_ms),
    NUMBER(rule3_ms),
    NUMBER(blank),
    NUMBER(beam),
    NUMBER(stability),
    NUMBER(max_tokens),
    NUMBER(threshold),
    NUMBER(smooth_frames),
    NUMBER(patience_frames),
    NUMBER(debounce_ms),
    NUMBER(release),
    NUMBER(hangover_ms),
    NUMBER(preroll_ms),
    NUMBER(max_symbols),
    NUMBER(blank_penalty),
    NUMBER(endpoint_frames),
    NUMBER(lm_scale),
    TEXT(lm),
    NUMBER(hotwords_score),
    TEXT(hotwords),
    TEXT(pieces),
#undef NUMBER
#undef TEXT
};

#define N_SINK_FIELDS (sizeof sink_fields / sizeof *sink_fields)

/* Numbers are 32 bits each, whatever they stand for; a text may be NULL and has any bytes but 0. */
static void sink_write(struct record *to, const rill_sink_opts *o)
{
    for (size_t i = 0; i < N_SINK_FIELDS; i++) {
        const char *at = (const char *) o + sink_fields[i].offset, *text;
        uint32_t u;
        if (!sink_fields[i].is_text) {
            memcpy(&u, at, sizeof u);
            record_u32(to, u);
            continue;
        }
        memcpy(&text, at, sizeof text);
        record_u32(to, text ? (uint32_t) strlen(text) + 1 : 0);
        record_bytes(to, text, text ? strlen(text) + 1 : 0);
    }
}

static const char *sink_text_read(struct record_reader *r)
{
    uint32_t n = record_take_count(r, 1);
    const char *from = n ? record_take_bytes(r, n) : NULL;
    if (from && memchr(from, 0, n) != from + n - 1)
        record_wrong(r, "a text does not end where it should");
    char *text = from && !r->wrong ? record_array(r, n, 1) : NULL;
    if (text)
        memcpy(text, from, n);
    return text;
}

static void sink_read(struct record_reader *r, rill_sink_opts *ret)
{
    for (size_t i = 0; i < N_SINK_FIELDS && !r->wrong; i++) {
        char *at = (char *) ret + sink_fields[i].offset;
        if (sink_fields[i].is_text) {
            const char *text = sink_text_read(r);
            memcpy(at, &text, sizeof text);
        } else {
            uint32_t u = record_take_u32(r);
            memcpy(at, &u, sizeof u);
        }
    }
    if (!r->wrong &&
        ((uint32_t) ret->kind >= PORT_KINDS || (uint32_t) ret->scores >= SCORE_KINDS ||
         (uint32_t) ret->units >= UNIT_KINDS))
        record_wrong(r, "a sink is of no known kind");
}

static void file_write(struct record *to, const struct part_file *f)
{
    record_text(to, f->name ? f->name : "");
    record_u32(to, (uint32_t) f->n);
    record_bytes(to, f->data, f->n);
}

static void file_read(struct record_reader *r, struct part_file *ret)
{
    const char *name = record_take_text(r);
    uint32_t n = record_take_count(r, 1);
    const void *from = n ? record_take_bytes(r, n) : NULL;
    uint8_t *data = from && !r->wrong ? record_array(r, n, 1) : NULL;
    if (data)
        *ret = (struct part_file) { .name = name, .data = memcpy(data, from, n), .n = n };
}

static void ports_write(struct record *to, const struct model_port *ports, uint32_t n)
{
    record_u32(to, ports ? n : 0);
    for (uint32_t i = 0; ports && i < n; i++) {
        record_u32(to, ports[i].kind);
        record_u32(to, ports[i].rate);
        sink_write(to, &ports[i].sink);
        file_write(to, &ports[i].decoder);
        file_write(to, &ports[i].joiner);
    }
}

void model_file_write(struct record *to, const rill_model *m, uint32_t n_in, uint32_t n_out)
{
    const rill_model_info *i = &m->info;
    record_text(to, i->name);
    record_text(to, i->task);
    record_text(to, i->licence);
    record_text(to, i->summary);
    record_u32(to, i->sample_rate);
    record_f32(to, i->vad_threshold);
    record_f32(to, i->vad_release);
    record_u32(to, i->vad_hangover_ms);
    record_u32(to, i->overload);
    record_u32(to, m->threads);
    record_bytes(to, i->sha256, sizeof i->sha256);
    ports_write(to, m->inputs, n_in);
    ports_write(to, m->outputs, n_out);
}

static struct model_port *ports_read(struct record_reader *r, uint32_t *ret_n)
{
    uint32_t n = record_take_count(r, 8);
    struct model_port *list = n ? record_array(r, n, sizeof *list) : NULL;
    for (uint32_t i = 0; i < n && !r->wrong; i++) {
        uint32_t kind = record_take_u32(r);
        if (kind >= PORT_KINDS || n > FILE_PORTS_MAX)
            record_wrong(r, "a port is of no known kind");
        list[i] = (struct model_port) { .kind = (rill_port_kind) kind, .rate = record_take_u32(r) };
        sink_read(r, &list[i].sink);
        file_read(r, &list[i].decoder);
        file_read(r, &list[i].joiner);
    }
    *ret_n = n;
    return list;
}

/* A number between 0 and 1. */
static float share_take(struct record_reader *r)
{
    float v = record_take_f32(r);
    if (!r->wrong && !(v >= 0 && v <= 1))
        record_wrong(r, "a threshold is not between 0 and 1");
    return v;
}

rill_status model_file_read(rill_model *m, struct planfile *f, rill_error *reterr)
{
    struct record_reader r = planfile_part(f, PLANFILE_MODEL, &m->arena);
    rill_model_info info = { 0 };
    info.name = record_take_text(&r);
    info.task = record_take_text(&r);
    info.licence = record_take_text(&r);
    info.summary = record_take_text(&r);
    info.sample_rate = record_take_u32(&r);
    info.vad_threshold = share_take(&r);
    info.vad_release = share_take(&r);
    info.vad_hangover_ms = record_take_u32(&r);
    uint32_t overload = record_take_u32(&r);
    if (!r.wrong && overload >= OVERLOAD_KINDS)
        record_wrong(&r, "what to do under overload is not known");
    info.overload = (rill_overload) overload;
    const uint32_t threads = record_take_u32(&r);
    if (!r.wrong && threads > CREW_THREADS_MAX)
        record_wrong(&r, "more threads than a pool has");
    const void *sha = record_take_bytes(&r, sizeof info.sha256);
    if (sha)
        memcpy(info.sha256, sha, sizeof info.sha256);
    m->inputs = ports_read(&r, &m->n_compiled_inputs);
    m->outputs = ports_read(&r, &m->n_compiled_outputs);
    if (r.wrong)
        return err_set(reterr, RILL_MALFORMED, "%s", r.wrong);
    m->info = info;
    m->threads = threads;
    m->compiled = f;
    return RILL_OK;
}
