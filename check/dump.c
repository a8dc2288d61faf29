/* SPDX-License-Identifier: MIT */
#include "check/dump.h"
#include "engine/graph/op.h"

static void wire_dump(const struct graph *g, uint32_t w, bool with_fact, FILE *to)
{
    if (w == WIRE_NONE) {
        fputc('_', to);
        return;
    }
    char fact[256];
    fact_print(&g->wires[w].fact, fact, sizeof fact);
    if (g->wires[w].fact.value)
        fprintf(to, "const %s", fact);
    else
        fprintf(to, "%%%u%s%s", w, with_fact ? ": " : "", with_fact ? fact : "");
}

static void attr_dump(const struct attr_spec *s, const void *attr, FILE *to)
{
    const unsigned char *p = (const unsigned char *) attr + s->offset;
    const struct attr_ints *ints = (const void *) p;
    const struct attr_floats *floats = (const void *) p;
    switch (s->kind) {
    case ATTR_INT:
        fprintf(to, " %s=%lld", s->name, (long long) *(const int64_t *) (const void *) p);
        break;
    case ATTR_FLOAT:
        fprintf(to, " %s=%g", s->name, (double) *(const float *) (const void *) p);
        break;
    case ATTR_CHOICE:
        fprintf(to, " %s=%s", s->name, s->choices[*(const int *) (const void *) p]);
        break;
    case ATTR_INTS:
        for (uint32_t i = 0; i < ints->n; i++)
            fprintf(to, "%s%s%s%lld", i ? "," : " ", i ? "" : s->name, i ? "" : "=",
                    (long long) ints->v[i]);
        break;
    case ATTR_FLOATS: fprintf(to, " %s[%u]", s->name, floats->n); break;
    case ATTR_STRINGS:
    case ATTR_TENSOR: fprintf(to, " %s=..", s->name); break;
    }
}

static void graph_dump_at(const struct graph *g, FILE *to, int depth);

static void node_dump(const struct graph *g, const struct node *n, FILE *to, int depth)
{
    fprintf(to, "%*s", depth * 2 + 2, "");
    for (unsigned k = 0; k < n->n_out; k++) {
        if (k)
            fputs(", ", to);
        wire_dump(g, n->out[k], true, to);
    }
    fprintf(to, " = %s(", n->op->name);
    for (unsigned k = 0; k < n->n_in; k++) {
        if (k)
            fputs(", ", to);
        wire_dump(g, n->in[k], false, to);
    }
    fputc(')', to);
    for (const struct attr_spec *s = n->op->attrs; s && s->name && n->attr; s++)
        attr_dump(s, n->attr, to);
    fprintf(to, "  # %s\n", n->name);
    for (unsigned b = 0; b < n->n_body; b++)
        graph_dump_at(n->body[b], to, depth + 1);
}

static void graph_dump_at(const struct graph *g, FILE *to, int depth)
{
    int in = depth * 2;
    fprintf(to, "%*sgraph %s: %u nodes\n", in, "", g->name ? g->name : "", g->n_nodes);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        fprintf(to, "%*sinput  ", in + 2, "");
        wire_dump(g, g->inputs[i], true, to);
        fprintf(to, "  # %s\n", g->wires[g->inputs[i]].name);
    }
    for (uint32_t i = 0; i < g->n_states; i++) {
        fprintf(to, "%*sstate  ", in + 2, "");
        wire_dump(g, g->states[i].in, true, to);
        fputs(" <- ", to);
        wire_dump(g, g->states[i].out, false, to);
        fprintf(to, "  # %s\n", g->states[i].name);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        node_dump(g, &g->nodes[i], to, depth);
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        fprintf(to, "%*soutput ", in + 2, "");
        wire_dump(g, g->outputs[i], true, to);
        fprintf(to, "  # %s\n", g->wires[g->outputs[i]].name);
    }
}

void graph_dump(const struct graph *g, FILE *to)
{
    graph_dump_at(g, to, 0);
}
