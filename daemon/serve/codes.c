/* SPDX-License-Identifier: MIT */
#include "daemon/serve/codes.h"
#include "daemon/models/registry.h"

#include <errno.h>

Rill__Code model_error_code(int error)
{
    return error == ENOENT          ? RILL__CODE__NO_MODEL
        : error == ENOSPC           ? RILL__CODE__QUOTA
        : error_is_transient(error) ? RILL__CODE__OVERLOADED
                                    : RILL__CODE__MODEL_FAILED;
}

Rill__Code model_failed_code(const struct model *m)
{
    return m->missing     ? RILL__CODE__NO_MODEL
        : m->is_transient ? RILL__CODE__OVERLOADED
                          : RILL__CODE__MODEL_FAILED;
}
