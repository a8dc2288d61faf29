/* SPDX-License-Identifier: MIT */
/* registry_in.h - what the files of the registry share: its list of models (registry_list.c). */
#ifndef RILL_DAEMON_MODELS_REGISTRY_IN_H
#define RILL_DAEMON_MODELS_REGISTRY_IN_H

#include "daemon/models/registry.h"

#define MAX_MODELS 256

struct model *registry_model_new(const struct registry *r,
                                 const char *name); /* NULL without memory */
/* In the list, for which others go; NULL: errno is ENOSPC or ENOMEM. */
struct model *model_add(struct registry *r, const char *name, bool for_list);
struct model *model_find(struct registry *r, const char *name);
void model_drop(struct registry *r, struct model *m); /* with the registry's reference */

/* Nobody holds it, nothing of it is in memory, and no stream runs on a version before it. */
bool model_is_spare(const struct model *m);
bool model_is_blank(const struct model *m); /* never used */

/* Those who wait for something of it. False without memory. */
bool model_wait_add(struct model_wait **waits, model_loaded *done, void *arg);
void model_waits_call(struct model_wait **waits, struct model *m);

#endif
