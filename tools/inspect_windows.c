/* SPDX-License-Identifier: MIT */
#include "tools/inspect_windows.h"
#include "engine/plan/cost.h"
#include "engine/rewrite/declutter/declutter.h"
#include "engine/rewrite/declutter/slide.h"

#include <stdio.h>

#define REASONS_MAX 4

/* Multiply-adds of node i for one window. */
static double node_cost(const struct graph *body, uint32_t i)
{
    struct graph one = *body;
    struct cost c;
    one.nodes = &body->nodes[i];
    one.n_nodes = 1;
    cost_of_graph(&one, &c);
    return (double) c.multiply_adds;
}

/* Frames that are computed for one window. */
static int64_t place_new(const struct place *p)
{
    return p->hop + p->left + p->right;
}

struct saving {
    double whole, now; /* multiply-adds a window */
    unsigned nodes;    /* that slide */
};

static struct saving saving_of(const struct slide_report *r)
{
    struct saving s = { 0 };
    for (uint32_t i = 0; i < r->body->n_nodes; i++) {
        const double cost = node_cost(r->body, i);
        const struct place *p = &r->at[i];
        s.whole += cost;
        s.now += p->axis < 0 ? cost : cost * (double) place_new(p) / (double) place_frames(p);
        s.nodes += p->axis >= 0;
    }
    return s;
}

static void slid_print(const struct slide_report *r)
{
    for (uint32_t i = 0; i < r->body->n_nodes; i++) {
        const struct node *n = &r->body->nodes[i];
        const struct place *p = &r->at[i];
        if (p->axis < 0 || node_cost(r->body, i) <= 0)
            continue;
        printf("    slides: %.60s (%s), %lld frames a window, %lld of them new", n->name,
               n->op->name, (long long) place_frames(p), (long long) p->hop);
        if (p->left || p->right)
            printf(", %lld at the front and %lld at the end anew", (long long) p->left,
                   (long long) p->right);
        printf("\n");
    }
}

static void stays_print(const struct slide_report *r)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < r->body->n_nodes; i++)
        if (r->at[i].axis < 0 && r->why[i] && n++ < REASONS_MAX)
            printf("    the whole window from %.60s (%s) on: %s\n", r->body->nodes[i].name,
                   r->body->nodes[i].op->name, r->why[i]);
}

static void report_print(const struct slide_report *r)
{
    const struct saving s = saving_of(r);
    printf("  windows of %lld frames every %lld: %u of %u nodes slide",
           (long long) r->windows->size, (long long) r->windows->hop, s.nodes, r->body->n_nodes);
    if (s.whole > s.now && s.now > 0)
        printf(", %.0f multiply-adds a window instead of %.0f, %.3g times fewer", s.now, s.whole,
               s.whole / s.now);
    printf("\n");
    slid_print(r);
    stays_print(r);
}

void inspect_windows_print(const rill_model *m)
{
    struct slide_report *list = NULL;
    rill_error err;
    if (m->compiled)
        return;
    if (graph_slides(&m->typed.g, &list, &err) != RILL_OK)
        printf("  windows: %s\n", err.text);
    for (; list; list = list->next)
        report_print(list);
}
