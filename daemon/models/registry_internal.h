/* SPDX-License-Identifier: MIT */
/* registry_internal.h - what the files of the registry share: its list of models (registry_list.c).
 */
#ifndef RILL_DAEMON_MODELS_REGISTRY_INTERNAL_H
#define RILL_DAEMON_MODELS_REGISTRY_INTERNAL_H

#include "daemon/models/registry.h"

#define MAX_MODELS 256

struct model *registry_model_new(const struct registry *r,
                                 const char *name); /* NULL without memory */
/* A new entry, for which an unused one may be removed; NULL: errno is ENOSPC or ENOMEM. */
struct model *model_add(struct registry *r, const char *name, bool for_list);
struct model *model_find(const struct registry *r, const char *name);
void model_drop(struct registry *r, struct model *m); /* with the registry's reference */

/* It is not loaded, and no stream runs on it or on an earlier version. */
bool model_is_unused(const struct model *m);
bool model_is_untouched(const struct model *m); /* never used */

/* False without memory. */
bool model_waiter_add(struct model_waiter **waiters, model_loaded *done, void *arg);
void model_waiters_call(struct model_waiter **waiters, struct model *m);

#endif
