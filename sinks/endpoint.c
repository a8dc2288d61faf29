/* SPDX-License-Identifier: MIT */
#include "sinks/endpoint.h"

void endpoint_init(struct endpoint *e, const rill_sink *s)
{
    const uint32_t ms[3] = { s->opts.rule1_ms, s->opts.rule2_ms, s->opts.rule3_ms };
    for (int i = 0; i < 3; i++)
        e->rule_samples[i] = sink_samples(s, ms[i]);
    e->begin_pos = s->base_pos;
}

rill_rule endpoint_rule(const struct endpoint *e, uint64_t quiet_pos, uint64_t end_pos, bool heard)
{
    const uint64_t *rule = e->rule_samples;
    uint64_t quiet = end_pos - quiet_pos;
    if (rule[1] && heard && quiet >= rule[1])
        return RILL_RULE_TRAILING;
    if (rule[0] && quiet >= rule[0])
        return RILL_RULE_SILENCE;
    return rule[2] && end_pos - e->begin_pos >= rule[2] ? RILL_RULE_LENGTH : RILL_RULE_NONE;
}

void endpoint_report(struct endpoint *e, rill_sink *s, rill_rule rule, uint64_t end_pos)
{
    rill_event *v = sink_event(s, RILL_EVENT_ENDPOINT);
    v->rule = rule;
    v->pos = v->end_pos = end_pos;
    e->begin_pos = end_pos;
}
