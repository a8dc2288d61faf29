/* SPDX-License-Identifier: MIT */
#include "tools/inspect_transforms.h"
#include "check/dump.h"
#include "lib/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void inspect_transforms_help(void)
{
    struct transform_help h;
    for (unsigned i = 0; transform_at(i, &h); i++)
        printf("%s\n    %s\n", h.form, h.text);
}

void inspect_transforms_print(const rill_model *m)
{
    for (unsigned i = 1; i < m->n_transforms; i++) {
        const struct transformed_model *s = &m->transforms[i];
        printf("  transform %u: %s%s%s\n", i, s->spec, s->note ? "\n    note: " : "",
               s->note ? s->note : "");
    }
}

bool inspect_transforms_pass(const struct command *cmd, const rill_model *m, const char *pass,
                             int *ret_code)
{
    static const char prefix[] = "transform:";
    const char *number = pass + sizeof prefix - 1;
    char *end;
    if (strncmp(pass, prefix, sizeof prefix - 1) != 0)
        return false;
    unsigned long k = strtoul(number, &end, 10);
    *ret_code = TOOL_OK;
    if (*number < '0' || *number > '9' || *end || k >= m->n_transforms) {
        if (m->n_transforms)
            *ret_code = tool_fail(
                cmd, TOOL_USAGE,
                "there is no pass '%s'; transform:0 (after --set) to transform:%u are there", pass,
                m->n_transforms - 1);
        else
            *ret_code = tool_fail(cmd, TOOL_USAGE,
                                  "there is no pass '%s' without --transform or --set", pass);
        return true;
    }
    const struct transformed_model *s = &m->transforms[k];
    if (!s->is_typed)
        printf("# as it was read: it cannot be typed yet: %s\n", s->why);
    graph_dump(s->is_typed ? &s->typed.g : &s->mgraph.g, stdout);
    return true;
}
