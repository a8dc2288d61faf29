/* SPDX-License-Identifier: MIT */
/* codes.h - the protocol's error codes for models. */
#ifndef RILL_DAEMON_SERVE_CODES_H
#define RILL_DAEMON_SERVE_CODES_H

#include "rilld.pb-c.h"

struct model;

Rill__Code model_error_code(int error); /* of registry_get's errno */
Rill__Code model_failed_code(const struct model *m);

#endif
