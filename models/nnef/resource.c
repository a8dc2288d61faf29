/* SPDX-License-Identifier: MIT */
/* Values out of JSON files beside a text: tract_resource_get(label = "config", key =
 * "$.sizes.hidden[0]") reads config.json. */
#include "models/nnef/json.h"

rill_status build_resource_get(const struct call *c, struct val *ret)
{
    struct builder *b = c->b;
    const char *label, *key, *file;
    struct json *j;
    TRY(arg_text(c, "label", &label));
    TRY(arg_text(c, "key", &key));
    if (!b->folder || !b->resources)
        return call_fail(c, RILL_IO, "'%.80s': this text has no folder to read values from", label);
    if (!(file = label_file(b, label, ".json")))
        return nnef_no_memory(b);
    TRY(json_open(c, b->resources, file, &j));
    const json_t *found = json_find(j, key);
    if (found)
        TRY(json_take(c, b->resources, j, found, ret));
    if (found && ret->kind != VAL_NONE)
        return RILL_OK;
    return call_fail(c, RILL_MALFORMED, "%s: '%.60s' is %s", j->file, key,
                     found ? "an object or null, expected a number, a string, true, false or "
                             "a list of such"
                           : "not there; a key is '$', then '.name' or '[place]' for each step");
}
