/* SPDX-License-Identifier: MIT */
#include "tests/daemon/openmetrics.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned line_number;

static bool wrong(struct om *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct om *m, const char *format, ...)
{
    va_list ap;
    int n = snprintf(m->error, sizeof m->error, "line %u: ", line_number);
    va_start(ap, format);
    vsnprintf(m->error + n, sizeof m->error - (size_t) n, format, ap);
    va_end(ap);
    return false;
}

static size_t name_length(const char *s, bool colons)
{
    size_t n = 0;
    while (isalpha((unsigned char) s[n]) || s[n] == '_' || (colons && s[n] == ':') ||
           (n && isdigit((unsigned char) s[n])))
        n++;
    return n;
}

/* ---- metadata ---- */

static struct om_family *family_now(struct om *m)
{
    return m->n_families ? &m->families[m->n_families - 1] : NULL;
}

/* The family that the line speaks of: the newest, or a new one that was not there before. */
static struct om_family *family_get(struct om *m, const char *name, size_t n)
{
    struct om_family *f = family_now(m);
    if (f && strlen(f->name) == n && !strncmp(f->name, name, n))
        return f;
    for (size_t i = 0; i < m->n_families; i++)
        if (strlen(m->families[i].name) == n && !strncmp(m->families[i].name, name, n)) {
            wrong(m, "family %s comes twice", m->families[i].name);
            return NULL;
        }
    if (m->n_families == OM_FAMILIES || n >= sizeof f->name) {
        wrong(m, "too many families");
        return NULL;
    }
    f = &m->families[m->n_families++];
    memcpy(f->name, name, n);
    return f;
}

static bool type_read(struct om *m, struct om_family *f, const char *p)
{
    static const char *const types[] = { "gauge",    "counter", "histogram", "info",
                                         "stateset", "summary", "unknown" };
    bool known = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        known |= !strcmp(types[i], p);
    if (f->typed || f->sampled || !known)
        return wrong(m, "TYPE of %s is '%s', comes twice or after its samples", f->name, p);
    f->typed = true;
    snprintf(f->type, sizeof f->type, "%s", p);
    return true;
}

static bool unit_read(struct om *m, struct om_family *f, const char *p)
{
    size_t n = strlen(f->name), u = strlen(p);
    if (f->unit_said || f->sampled || !u || n <= u + 1 || strcmp(f->name + n - u, p) ||
        f->name[n - u - 1] != '_')
        return wrong(m, "UNIT '%s' of %s: twice, late, or not the end of the name", p, f->name);
    f->unit_said = true;
    snprintf(f->unit, sizeof f->unit, "%s", p);
    return true;
}

static bool help_read(struct om *m, struct om_family *f, const char *p)
{
    if (f->helped || f->sampled || !*p)
        return wrong(m, "HELP of %s: twice, late or empty", f->name);
    for (; *p; p++)
        if (*p == '\\' && !strchr("n\\\"", *++p))
            return wrong(m, "HELP of %s has a wrong escape", f->name);
    f->helped = true;
    return true;
}

static bool meta_read(struct om *m, const char *p)
{
    static const struct {
        const char *word;
        bool (*read)(struct om *m, struct om_family *f, const char *p);
    } kinds[] = {
        { "# TYPE ", type_read },
        { "# UNIT ", unit_read },
        { "# HELP ", help_read },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t w = strlen(kinds[i].word), n;
        if (strncmp(p, kinds[i].word, w))
            continue;
        n = name_length(p + w, true);
        if (!n || p[w + n] != ' ')
            return wrong(m, "no name in '%s'", p);
        struct om_family *f = family_get(m, p + w, n);
        return f && kinds[i].read(m, f, p + w + n + 1);
    }
    return wrong(m, "a comment that is none of TYPE, UNIT, HELP, EOF: '%s'", p);
}

/* ---- samples ---- */

/* A number as OpenMetrics has it: no hexadecimal, no spaces, nothing behind it. */
static bool number_read(const char *p, double *ret)
{
    char *end;
    if (!*p || strspn(p, "0123456789+-.eEINFnaf") != strlen(p))
        return false;
    *ret = strtod(p, &end);
    return end != p && !*end;
}

/* One label at p; its end, or NULL. */
static const char *label_read(const char *p, char name[64], char value[256])
{
    size_t n = name_length(p, false), k = 0;
    if (!n || n >= 64 || p[n] != '=' || p[n + 1] != '"')
        return NULL;
    memcpy(name, p, n);
    name[n] = '\0';
    for (p += n + 2; *p && *p != '"'; p++) {
        char c = *p;
        if (c == '\\') {
            p++;
            if (!*p || !strchr("n\\\"", *p))
                return NULL;
            c = *p == 'n' ? '\n' : *p;
        }
        if (k == 255)
            return NULL;
        value[k++] = c;
    }
    value[k] = '\0';
    return *p == '"' ? p + 1 : NULL;
}

/* "{...}" at p into the sample; the place behind it, or NULL. */
static const char *labels_read(struct om *m, struct om_sample *s, const char *p)
{
    char names[16][64], value[256];
    size_t n = 0;
    const char *start = ++p;
    for (;; p++) {
        const char *at = p;
        if (n == 16 || !(p = label_read(p, names[n], value))) {
            wrong(m, "labels of %s", s->name);
            return NULL;
        }
        for (size_t i = 0; i < n; i++)
            if (!strcmp(names[i], names[n])) {
                wrong(m, "label %s twice", names[n]);
                return NULL;
            }
        bool is_le = !strcmp(names[n++], "le");
        if (is_le && (!number_read(value, &s->le) || !strpbrk(value, ".eI"))) {
            wrong(m, "le=\"%s\" is no float", value);
            return NULL;
        }
        if (!is_le)
            snprintf(s->rest + strlen(s->rest), sizeof s->rest - strlen(s->rest), "%.*s;",
                     (int) (p - at), at);
        if (*p != ',')
            break;
    }
    snprintf(s->labels, sizeof s->labels, "%.*s", (int) (p - start), start);
    if (*p++ == '}')
        return p;
    wrong(m, "labels of %s do not end", s->name);
    return NULL;
}

/* What may follow the family's name, and which values. */
static bool sample_fits(struct om *m, const struct om_family *f, const struct om_sample *s)
{
    static const struct {
        const char *type, *suffix;
        bool le, one, negative;
    } rules[] = {
        { "gauge", "", false, false, true },
        { "counter", "_total", false, false, false },
        { "histogram", "_bucket", true, false, false },
        { "histogram", "_count", false, false, false },
        { "histogram", "_sum", false, false, false },
        { "info", "_info", false, true, false },
    };
    const char *suffix = s->name + strlen(f->name);
    if (strncmp(s->name, f->name, strlen(f->name)))
        return wrong(m, "%s stands in the family %s", s->name, f->name);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(rules[i].type, f->type) && !strcmp(rules[i].suffix, suffix))
            return (rules[i].le == !isnan(s->le) && (!rules[i].one || s->value == 1) &&
                    !isnan(s->value) && (rules[i].negative || s->value >= 0)) ||
                wrong(m, "%s has a value or labels that its type has not", s->name);
    return wrong(m, "%s does not fit type %s", s->name, f->type);
}

static bool sample_read(struct om *m, const char *p)
{
    struct om_family *f = family_now(m);
    size_t n = name_length(p, true);
    struct om_sample *s = &m->samples[m->n_samples];
    if (!f || !f->typed || !f->helped || !n || n >= sizeof s->name || m->n_samples == OM_SAMPLES)
        return wrong(m, "a sample without TYPE and HELP, or no name: '%s'", p);
    *s = (struct om_sample) { .le = NAN };
    memcpy(s->name, p, n);
    p += n;
    if (*p == '{' && !(p = labels_read(m, s, p)))
        return false;
    if (*p != ' ' || !number_read(p + 1, &s->value))
        return wrong(m, "no value: '%s'", p);
    for (size_t i = 0; i < m->n_samples; i++)
        if (!strcmp(m->samples[i].name, s->name) && !strcmp(m->samples[i].labels, s->labels))
            return wrong(m, "%s{%s} comes twice", s->name, s->labels);
    f->sampled = true;
    m->n_samples++;
    return sample_fits(m, f, s);
}

/* ---- histograms ---- */

static double value_of(const struct om *m, const char *family, const char *suffix, const char *rest)
{
    for (size_t i = 0; i < m->n_samples; i++) {
        const struct om_sample *s = &m->samples[i];
        size_t n = strlen(family);
        if (!strncmp(s->name, family, n) && !strcmp(s->name + n, suffix) && !strcmp(s->rest, rest))
            return s->value;
    }
    return NAN;
}

static bool buckets_check(struct om *m, const struct om_family *f, const char *rest)
{
    double le = -INFINITY, last = 0;
    char name[128];
    snprintf(name, sizeof name, "%s_bucket", f->name);
    for (size_t i = 0; i < m->n_samples; i++) {
        const struct om_sample *s = &m->samples[i];
        if (strcmp(s->name, name) || strcmp(s->rest, rest))
            continue;
        if (!(s->le > le) || s->value < last || s->value != floor(s->value))
            return wrong(m, "%s{%s}: buckets are not cumulative", name, s->labels);
        le = s->le;
        last = s->value;
    }
    if (!isinf(le) || value_of(m, f->name, "_count", rest) != last ||
        isnan(value_of(m, f->name, "_sum", rest)))
        return wrong(m, "%s{%s}: +Inf is not the count, or no sum", name, rest);
    return true;
}

static bool histograms_check(struct om *m)
{
    for (size_t k = 0; k < m->n_families; k++) {
        size_t n = strlen(m->families[k].name);
        if (strcmp(m->families[k].type, "histogram"))
            continue;
        for (size_t i = 0; i < m->n_samples; i++)
            if (!strncmp(m->samples[i].name, m->families[k].name, n) &&
                !strcmp(m->samples[i].name + n, "_count") &&
                !buckets_check(m, &m->families[k], m->samples[i].rest))
                return false;
    }
    return true;
}

bool om_parse(struct om *m, const char *text)
{
    char line[1024];
    memset(m, 0, sizeof *m);
    line_number = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        line_number++;
        if (!n || n >= sizeof line || p[n] != '\n')
            return wrong(m, "a line is empty, too long or has no end");
        memcpy(line, p, n);
        line[n] = '\0';
        p += n + 1;
        if (!strcmp(line, "# EOF"))
            return *p ? wrong(m, "something follows # EOF") : histograms_check(m);
        if (!(line[0] == '#' ? meta_read(m, line) : sample_read(m, line)))
            return false;
    }
    return wrong(m, "no # EOF");
}

double om_value(const struct om *m, const char *name, const char *labels)
{
    for (size_t i = 0; i < m->n_samples; i++)
        if (!strcmp(m->samples[i].name, name) && !strcmp(m->samples[i].labels, labels))
            return m->samples[i].value;
    return NAN;
}

double om_sum(const struct om *m, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < m->n_samples; i++)
        sum += strcmp(m->samples[i].name, name) ? 0 : m->samples[i].value;
    return sum;
}

size_t om_count(const struct om *m, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_samples; i++)
        n += !strcmp(m->samples[i].name, name);
    return n;
}
