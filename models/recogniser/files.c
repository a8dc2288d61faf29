/* SPDX-License-Identifier: MIT */
/* Which files of a folder are the recogniser's: by role, precision, and what belongs together. */
#include "models/recogniser/internal.h"

#include <string.h>

#define NETWORK_BYTES_MAX ((uint64_t) 4 << 30)

static const char *const role_names[N_ROLES] = { "encoder", "decoder", "joiner", "network" };
/* How names of files begin, by role. */
static const char *const beginnings[N_ROLES][4] = {
    { "encoder" }, { "decoder" }, { "joiner" }, { "ctc", "model-streaming", "model" }
};
/* In the order in which they are taken. */
static const char *const forms[] = { "f32", "int8", "fp16" };
#define N_FORMS 3

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static unsigned form_of(const char *name)
{
    return ends_with(name, ".int8.onnx") ? 1 : ends_with(name, ".fp16.onnx") ? 2 : 0;
}

/* What stands between the beginning and the form: it tells what belongs together. */
static int stem_of(const char *name, const char *beginning, const char **ret)
{
    *ret = name + strlen(beginning);
    int n = (int) (strlen(*ret) - strlen(".onnx"));
    return form_of(name) ? n - 5 : n; /* ".int8" */
}

static const char *beginning_of(const char *name, enum role role)
{
    if (!ends_with(name, ".onnx"))
        return NULL;
    for (int i = 0; i < 4 && beginnings[role][i]; i++)
        if (!strncmp(name, beginnings[role][i], strlen(beginnings[role][i])))
            return beginnings[role][i];
    return NULL;
}

/* Whether the file is of the role and belongs to `with`, a file of another one (NULL: to any). */
static bool fits(const char *name, enum role role, const char *with, enum role with_role)
{
    const char *beginning = beginning_of(name, role), *stem, *other;
    if (!beginning || !with)
        return beginning;
    int n = stem_of(name, beginning, &stem);
    int m = stem_of(with, beginning_of(with, with_role), &other);
    return n == m && !strncmp(stem, other, (size_t) n);
}

static rill_status precision_check(const struct recogniser *r)
{
    const char *wanted = r->conf.recogniser.precision;
    bool known = !wanted;
    for (unsigned form = 0; form < N_FORMS; form++)
        known = known || !strcmp(forms[form], wanted);
    return known ? RILL_OK
                 : err_set(r->err, RILL_INVALID,
                           "model.conf: precision is '%.40s'; expected f32, int8 or fp16", wanted);
}

/* The best file of a role: of the first form there is, by name. */
static const char *best_of(const struct recogniser *r, enum role role, const char *with)
{
    unsigned wanted = 0;
    for (unsigned form = 0; r->conf.recogniser.precision && form < N_FORMS; form++)
        wanted = strcmp(forms[form], r->conf.recogniser.precision) ? wanted : form;
    for (unsigned i = 0; i <= N_FORMS; i++) {
        unsigned form = i ? i - 1 : wanted;
        for (size_t k = 0; k < r->n_names; k++)
            if (form_of(r->names[k]) == form && fits(r->names[k], role, with, ROLE_ENCODER))
                return r->names[k];
    }
    return NULL;
}

/* Names go into the texts. */
static bool name_is_plain(const char *name)
{
    const char *c = name;
    while ((unsigned char) *c >= 0x20 && !strchr("\"'\\;", *c))
        c++;
    return !*c;
}

static rill_status name_check(const struct recogniser *r, const char *name)
{
    return name_is_plain(name)
        ? RILL_OK
        : err_set(r->err, RILL_INVALID,
                  "'%.200s': a file's name without quotes, backslash and semicolon is expected",
                  name);
}

static const char *another(const struct recogniser *r, enum role role, const char *taken)
{
    for (size_t k = 0; k < r->n_names; k++)
        if (fits(r->names[k], role, NULL, role) && strcmp(r->names[k], taken) != 0 &&
            name_is_plain(r->names[k]))
            return r->names[k];
    return NULL;
}

static const char *onnx_names(const struct recogniser *r)
{
    const char *all = "";
    for (size_t k = 0; all && k < r->n_names && strlen(all) < 160; k++)
        if (ends_with(r->names[k], ".onnx"))
            all = arena_printf(r->arena, "%s%s%.80s", all, *all ? ", " : "", r->names[k]);
    return all ? all : "";
}

static rill_status role_missing(const struct recogniser *r, enum role role)
{
    static const char *const pattern[N_ROLES] = { "encoder*.onnx", "decoder*.onnx", "joiner*.onnx",
                                                  "ctc*.onnx or model*.onnx" };
    return err_set(r->err, RILL_IO,
                   "its %s is missing: expected a file %s; there is %.100s. A recogniser is "
                   "encoder*.onnx, decoder*.onnx, joiner*.onnx and tokens.txt, or ctc*.onnx (or "
                   "model*.onnx) and tokens.txt; decoders of whole utterances (Whisper, "
                   "paraformer, Moonshine that does not stream) are not taken",
                   role_names[role], pattern[role], onnx_names(r));
}

static rill_status describe(struct recogniser *r, struct role_file *f)
{
    struct arena bytes = { 0 };
    const uint8_t *data;
    size_t n;
    rill_status s = folder_peek(r->folder, f->name, &bytes, NETWORK_BYTES_MAX, &data, &n, r->err);
    if (s == RILL_OK) {
        s = onnx_describe(&f->about, r->arena, data, n, r->err);
        if (s != RILL_OK)
            err_prefix(r->err, s, "%.160s", f->name);
    }
    arena_drop(&bytes);
    return s;
}

static rill_status role_fill(struct recogniser *r, enum role role, const char *own,
                             const char *with)
{
    struct role_file *f = &r->file[role];
    f->name = own ? own : best_of(r, role, with);
    if (!f->name && with)
        f->name = best_of(r, role, NULL); /* files of one model that are called as they like */
    if (!f->name)
        return role_missing(r, role);
    TRY(name_check(r, f->name));
    f->form = forms[form_of(f->name)];
    f->other = another(r, role, f->name);
    return describe(r, f);
}

static bool has_role(const struct recogniser *r, enum role role)
{
    for (size_t k = 0; k < r->n_names; k++)
        if (beginning_of(r->names[k], role))
            return true;
    return false;
}

static rill_status transducer_files(struct recogniser *r)
{
    const struct conf_recogniser *c = &r->conf.recogniser;
    TRY(role_fill(r, ROLE_ENCODER, c->encoder, NULL));
    TRY(role_fill(r, ROLE_DECODER, c->decoder, r->file[ROLE_ENCODER].name));
    TRY(role_fill(r, ROLE_JOINER, c->joiner, r->file[ROLE_ENCODER].name));
    r->net = &r->file[ROLE_ENCODER];
    return RILL_OK;
}

rill_status recogniser_files(struct recogniser *r)
{
    const struct conf_recogniser *c = &r->conf.recogniser;
    bool parts = c->encoder || has_role(r, ROLE_ENCODER) || has_role(r, ROLE_DECODER) ||
        has_role(r, ROLE_JOINER);
    TRY(precision_check(r));
    if (parts && !c->network)
        return transducer_files(r);
    r->is_ctc = true;
    r->net = &r->file[ROLE_CTC];
    return role_fill(r, ROLE_CTC, c->network, NULL);
}
