/* SPDX-License-Identifier: MIT */
/* rill runtimes: what could compute models here, and why not. */
#include "tools/json.h"
#include "tools/tool.h"

#include <rill.h>
#include <stdio.h>

/* computes: NULL where it cannot, for the reason why. */
static void runtime_add(json_t *list, const char *name, const char *computes, const char *why)
{
    json_t *row = json_pack("{s:s, s:s?, s:s?}", "name", name, "computes", computes, "error",
                            computes ? NULL : why);
    json_array_append_new(list, row);
}

static int runtimes_run(const struct command *cmd, int argc, char **argv)
{
    bool json = false;
    const struct opt table[] = {
        { "json", 0, OPT_FLAG, &json, NULL, "print [{name, computes, error}]" }, { 0 }
    };
    int n = opts_parse(cmd, table, argc, argv, 0, 0);
    if (n < 0)
        return -n;
    json_t *list = json_array();
    const char *name;
    for (unsigned i = 0; (name = rill_runtime_name(i)); i++) {
        const char *computes = NULL;
        rill_error err = { .text = "" };
        rill_runtime_check(name, &computes, &err);
        runtime_add(list, name, computes, err.text);
        if (!json)
            printf("%-12s %s%s\n", name, computes ? "computes by " : "",
                   computes ? computes : err.text);
    }
    if (json) {
        json_dumpf(list, stdout, JSON_INDENT(1));
        putchar('\n');
    }
    json_decref(list);
    return TOOL_OK;
}

const struct command cmd_runtimes = {
    .name = "runtimes",
    .usage = "[--json]",
    .summary = "list what could compute models here, and why the rest cannot",
    .details = "The setting daemon.runtime of rilld.conf takes these names; `default` is cpu.",
    .run = runtimes_run,
};
