/* SPDX-License-Identifier: MIT */
#include "rill.h"

const char *rill_status_text(rill_status s)
{
    switch (s) {
#define X(name, text)                                                                              \
    case RILL_##name: return text;
        RILL_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

const char *rill_version(void)
{
    return RILL_VERSION;
}
