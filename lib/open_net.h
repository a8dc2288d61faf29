/* SPDX-License-Identifier: MIT */
/* open_net.h - the networks of models/open_net.h, planned as sizes come (engine/late). */
#ifndef RILL_LIB_OPEN_NET_H
#define RILL_LIB_OPEN_NET_H
#include "models/open_net.h"

#include <stddef.h>

/* From the file of a network of n bytes, which may be dropped afterwards. name is for messages,
 * which begin with it. */
rill_status open_net_new(struct open_net **ret, const char *name, const uint8_t *data, size_t n,
                         rill_error *reterr);
#endif
