/* SPDX-License-Identifier: MIT */
#include "daemon/base/conf.h"
#include "daemon/base/address.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum conf_type { STR, INT, MODE, REAL, SIZE };
enum conf_read { START, LIVE };

struct conf_key {
    const char *section, *key;
    enum conf_type type;
    enum conf_read read;
    size_t offset;
    const char *def, *help;
    double lo, hi;
};

static const struct conf_key keys[] = {
#define X(section, key, type, read, def, lo, hi, help)                                             \
    { #section, #key, type, read, offsetof(struct conf, section##_##key), def, help, lo, hi },
    CONF_EACH(X)
#undef X
};
#define N_KEYS (sizeof keys / sizeof *keys)

/* Earlier names of keys, which settings may go on using. */
static const struct {
    const char *section, *was, *key;
} renamed[] = {
    { "limits", "max_frame_bytes", "max_message_bytes" },
};

/* ---- values ---- */

/* "64", or "1024T" of a size. */
static void limit_print(char ret[32], const struct conf_key *k, double v)
{
    static const char units[] = " KMGT";
    size_t unit = 0;
    while (k->type == SIZE && units[unit + 1] && v >= 1024 && fmod(v, 1024) == 0) {
        v /= 1024;
        unit++;
    }
    snprintf(ret, 32, "%.15g%.*s", v, (int) (unit > 0), units + unit);
}

static void range_print(char ret[80], const struct conf_key *k, const char *between)
{
    char lo[32], hi[32];
    limit_print(lo, k, k->lo);
    limit_print(hi, k, k->hi);
    snprintf(ret, 80, "%s %s %s", lo, between, hi);
}

static bool number_in_range(const struct conf_key *k, double v, char *why, size_t n)
{
    if (v >= k->lo && v <= k->hi)
        return true;
    char range[80];
    range_print(range, k, "and");
    if (k->type == MODE)
        snprintf(why, n, "must be an octal number up to %04o", (unsigned) k->hi);
    else
        snprintf(why, n, "must be within %s", range);
    return false;
}

static bool choice_valid(const struct conf_key *k, const char *v, char *why, size_t n)
{
    static const struct {
        const char *section, *key, *choices;
    } choices[] = {
        { "models", "check", " yes no " },
        { "log", "level", " error warning info debug " },
        { "log", "format", " auto journal plain prefix " },
        { "overload", "policy", " model bypass skip shed off " },
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(k->section, choices[i].section) != 0 || strcmp(k->key, choices[i].key) != 0)
            continue;
        char word[32];
        snprintf(word, sizeof word, " %s ", v);
        if (!strchr(v, ' ') && strstr(choices[i].choices, word))
            return true;
        snprintf(why, n, "must be one of:%s", choices[i].choices);
        return false;
    }
    return true;
}

static bool address_valid(const struct conf_key *k, const char *v, char *why, size_t n)
{
    static const char *const keys_of[] = { "listen", "health_listen" };
    union address a;
    for (size_t i = 0; i < sizeof keys_of / sizeof *keys_of; i++)
        if (*v && strcmp(k->section, "http") == 0 && strcmp(k->key, keys_of[i]) == 0 &&
            !address_parse(v, &a)) {
            char rule[ADDRESS_RULE_BYTES];
            address_rule(rule);
            snprintf(why, n, "must be %s", rule);
            return false;
        }
    return true;
}

/* A whole number of bytes, with a unit of powers of 1024 or none. */
static bool size_set(uint64_t *to, const struct conf_key *k, const char *v, char *why, size_t n)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    unsigned long long x = strtoull(v, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned bits = unit ? 10 * (unsigned) (unit - units + 1) : 0;
    if (v[0] < '0' || v[0] > '9' || errno || (*end && (!unit || end[1]))) {
        snprintf(why, n, "must be a whole number of bytes, or one with K, M, G or T behind it");
        return false;
    }
    if (!number_in_range(k, ldexp((double) x, (int) bits), why, n))
        return false;
    *to = x << bits;
    return true;
}

static bool value_set(struct conf *c, const struct conf_key *k, const char *v, char *why, size_t n)
{
    char *end = NULL, *field = (char *) c + k->offset;
    errno = 0;
    if (k->type == STR) {
        if (*v == ';') {
            snprintf(why, n, "must not begin with ; which begins a comment");
            return false;
        }
        if (!choice_valid(k, v, why, n))
            return false;
        if (!number_in_range(k, (double) strlen(v), why, n)) {
            snprintf(why, n, "must be %g to %g characters long", k->lo, k->hi);
            return false;
        }
        if (!address_valid(k, v, why, n))
            return false;
        memcpy(field, v, strlen(v) + 1);
        return true;
    }
    if (k->type == REAL) {
        double x = strtod(v, &end);
        if (end == v || *end || !isfinite(x) || strpbrk(v, "xX")) {
            snprintf(why, n, "must be a number");
            return false;
        }
        memcpy(field, &x, sizeof x);
        return number_in_range(k, x, why, n);
    }
    if (k->type == SIZE)
        return size_set((uint64_t *) (void *) field, k, v, why, n);
    unsigned long long x = strtoull(v, &end, k->type == MODE ? 8 : 10);
    if (end == v || *end || errno || v[0] < '0' || v[0] > '9') {
        snprintf(why, n, "must be %s number without a sign or unit",
                 k->type == MODE ? "an octal" : "a whole");
        return false;
    }
    if (!number_in_range(k, (double) x, why, n))
        return false;
    uint32_t u = (uint32_t) x;
    memcpy(field, &u, sizeof u);
    return true;
}

void conf_defaults(struct conf *c)
{
    char why[ADDRESS_RULE_BYTES + 16];
    memset(c, 0, sizeof *c);
    for (size_t i = 0; i < N_KEYS; i++)
        if (!value_set(c, &keys[i], keys[i].def, why, sizeof why))
            abort();
}

/* ---- files ---- */

#define BLANKS " \t\v\f"

struct reading {
    struct conf *conf;
    FILE *file;
    const char *path;
    unsigned line;     /* the handler's present one */
    bool said[N_KEYS]; /* in this file: a later one may say otherwise */
    bool failed;
    char *err;
};

static void read_fail(struct reading *r, unsigned line, const char *format, const char *a,
                      const char *b, const char *c)
{
    if (r->failed)
        return;
    r->failed = true;
    int n = snprintf(r->err, CONF_ERROR_BYTES, "%s:%u: ", r->path, line);
    if (n > 0 && n < CONF_ERROR_BYTES)
        snprintf(r->err + n, (size_t) (CONF_ERROR_BYTES - n), format, a, b, c);
}

/* The next line without its end, of at most `most` bytes and a zero; its bytes, `most` + 1 if they
 * are more, or -1 at the end of the file. */
static int line_get(FILE *f, char *buf, int most)
{
    int n = 0, c;
    while ((c = getc(f)) != EOF && c != '\n') {
        if (n == most)
            return most + 1;
        buf[n++] = (char) c;
    }
    n -= n && buf[n - 1] == '\r';
    buf[n] = '\0';
    return c == EOF && !n ? -1 : n;
}

/* Why the line is refused, or NULL: the INI library would accept it silently. */
static const char *line_fault(const char *line, int n)
{
    if (memchr(line, '\0', (size_t) n))
        return "the line holds a byte of value 0";
    if (strchr(line, '\r'))
        return "a carriage return stands within the line; lines end with \\n or \\r\\n";
    line += strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    line += strspn(line, BLANKS);
    const char *end = *line == '[' ? strchr(line, ']') : NULL;
    if (end && !strchr(";#", end[1 + strspn(end + 1, BLANKS)])) /* which finds the zero too */
        return "after ] only a comment may stand";
    return NULL;
}

static bool section_known(const char *section)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].section, section) == 0)
            return true;
    return false;
}

/* The INI library reports keys only, so a section without keys is checked here. */
static void section_check(struct reading *r, char *line)
{
    line += strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    line += strspn(line, BLANKS);
    char *end = *line == '[' ? strchr(line, ']') : NULL;
    if (!end)
        return;
    *end = '\0';
    if (!section_known(line + 1))
        read_fail(r, r->line, "%s'%s' is no section (--print-config shows all)%s", "", line + 1,
                  "");
    *end = ']';
}

/* Strips leading blanks: the INI library would take an indented line as part of the value before
 * it. */
static char *line_read(char *buf, int n, void *arg)
{
    struct reading *r = arg;
    int len = r->failed ? -1 : line_get(r->file, buf, n - 2);
    if (len < 0)
        return NULL;
    r->line++;
    const char *fault = len > n - 2 ? NULL : line_fault(buf, len);
    if (len > n - 2)
        read_fail(r, r->line, "%sthe line is longer than %s bytes%s", "", "198", "");
    else if (fault)
        read_fail(r, r->line, "%s%s%s", "", fault, "");
    else
        section_check(r, buf);
    if (r->failed)
        return NULL;
    size_t blanks = strspn(buf, BLANKS);
    memmove(buf, buf + blanks, (size_t) len - blanks + 1);
    return buf;
}

static bool key_is(const struct conf_key *k, const char *section, const char *name)
{
    if (strcmp(k->section, section) != 0)
        return false;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].section, section) == 0 && strcmp(renamed[i].was, name) == 0)
            name = renamed[i].key;
    return strcmp(k->key, name) == 0;
}

static int value_take(void *arg, const char *section, const char *name, const char *value)
{
    struct reading *r = arg;
    char why[ADDRESS_RULE_BYTES + 16];
    for (size_t i = 0; i < N_KEYS && !r->failed; i++) {
        if (!key_is(&keys[i], section, name))
            continue;
        if (r->said[i])
            read_fail(r, r->line, "%s is given twice in this file%s%s", name, "", "");
        else if (!value_set(r->conf, &keys[i], value, why, sizeof why))
            read_fail(r, r->line, "%s %s; it is '%s'", name, why, value);
        r->said[i] = true;
        return !r->failed;
    }
    if (!section_known(section))
        read_fail(r, r->line, "%s'%s' is no section (--print-config shows all)%s", "", section, "");
    else
        read_fail(r, r->line, "'%s' is no key of [%s] (--print-config shows all)%s", name, section,
                  "");
    return 0;
}

static bool file_read(struct conf *c, const char *path, bool may_miss, char *err)
{
    struct reading r = { .conf = c, .path = path, .err = err, .file = fopen(path, "re") };
    if (!r.file) {
        if (errno == ENOENT && may_miss)
            return true;
        snprintf(err, CONF_ERROR_BYTES, "%s: %s", path, strerror(errno));
        return false;
    }
    struct stat st;
    if (fstat(fileno(r.file), &st) < 0 ||
        (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && st.st_rdev != makedev(1, 3))) {
        snprintf(err, CONF_ERROR_BYTES, "%s: is no file", path);
        fclose(r.file);
        return false;
    }
    int line = ini_parse_stream(line_read, &r, value_take, &r);
    if (line > 0)
        read_fail(&r, (unsigned) line, "%sthis is neither [section], key = value nor a comment%s%s",
                  "", "", "");
    else if (line < 0 || ferror(r.file))
        read_fail(&r, r.line, "%scannot be read%s%s", "", "", "");
    fclose(r.file);
    return !r.failed;
}

static int is_conf(const struct dirent *d)
{
    size_t n = strlen(d->d_name);
    return d->d_name[0] != '.' && n > 5 && strcmp(d->d_name + n - 5, ".conf") == 0;
}

static bool drop_ins_read(struct conf *c, const char *path, char *err)
{
    char dir[1024], file[1400];
    const char *slash = strrchr(path, '/');
    struct dirent **names;
    int n = snprintf(dir, sizeof dir, "%.*sconf.d", slash ? (int) (slash - path) + 1 : 0, path);
    if (n < 0 || (size_t) n >= sizeof dir)
        return true;
    int count = scandir(dir, &names, is_conf, alphasort);
    bool good = true;
    if (count < 0 && errno != ENOENT && errno != ENOTDIR) {
        snprintf(err, CONF_ERROR_BYTES, "%.700s: %s", dir, strerror(errno));
        return false;
    }
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", dir, names[i]->d_name);
        good = good && file_read(c, file, false, err);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return good;
}

static bool http_is_taken(const struct conf *c)
{
    const char *const all[] = { c->daemon_socket, c->daemon_control_socket, c->http_listen,
                                c->http_health_listen };
    for (size_t i = 2; i < 4; i++)
        for (size_t k = 0; k < i; k++)
            if (*all[i] && strcmp(all[i], all[k]) == 0)
                return true;
    return false;
}

/* Checks between values. */
static bool conf_agrees(const struct conf *c, const char *path, char *err)
{
    const char *why = strcmp(c->daemon_socket, c->daemon_control_socket) == 0
        ? "socket and control_socket must not be the same path"
        : http_is_taken(c) ? "two settings of [daemon] and [http] are one socket"
        : c->limits_output_soft_ms > c->limits_output_hard_ms
        ? "output_soft_ms must not be over output_hard_ms"
        : c->limits_memory_max && c->limits_memory_max / 4 < c->limits_max_message_bytes
        ? "memory_max must be at least four times max_message_bytes"
        : NULL;
    if (why)
        snprintf(err, CONF_ERROR_BYTES, "%.700s: %s", path, why);
    return !why;
}

bool conf_load(struct conf *c, const char *path, bool may_miss, char err[CONF_ERROR_BYTES])
{
    conf_defaults(c);
    err[0] = '\0';
    return file_read(c, path, may_miss, err) && drop_ins_read(c, path, err) &&
        conf_agrees(c, path, err);
}

/* ---- printing ---- */

static void help_print(FILE *f, const struct conf_key *k)
{
    const char *h = k->help;
    char range[80];
    while (*h) {
        size_t n = strlen(h);
        if (n > 96)
            for (n = 96; n > 1 && h[n] != ' '; n--)
                ;
        fprintf(f, "# %.*s\n", (int) n, h);
        h += n;
        h += *h == ' ';
    }
    range_print(range, k, "to");
    if (k->type == INT || k->type == REAL || k->type == SIZE)
        fprintf(f, "# Range: %s.\n", range);
    if (k->read == START)
        fputs("# Read at start alone.\n", f);
}

void conf_print_template(FILE *f)
{
    fputs("# rilld.conf - settings of the streaming audio daemon. Each line shows the default.\n"
          "# Files conf.d/*.conf beside this one are read after it, in order of their names.\n",
          f);
    for (size_t i = 0; i < N_KEYS; i++) {
        if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
            fprintf(f, "\n[%s]\n", keys[i].section);
        fputc('\n', f);
        help_print(f, &keys[i]);
        fprintf(f, "#%s =%s%s\n", keys[i].key, *keys[i].def ? " " : "", keys[i].def);
    }
}

static void value_print(FILE *f, const struct conf *c, const struct conf_key *k)
{
    const char *field = (const char *) c + k->offset;
    uint32_t u;
    uint64_t size;
    double x;
    memcpy(&u, field, sizeof u);
    memcpy(&size, field, k->type == SIZE ? sizeof size : 0);
    memcpy(&x, field, k->type == REAL ? sizeof x : 0);
    switch (k->type) {
    case STR: fprintf(f, "%s = %s\n", k->key, field); break;
    case INT: fprintf(f, "%s = %u\n", k->key, u); break;
    case MODE: fprintf(f, "%s = %04o\n", k->key, u); break;
    case REAL: fprintf(f, "%s = %.15g\n", k->key, x); break;
    case SIZE: fprintf(f, "%s = %llu\n", k->key, (unsigned long long) size); break;
    }
}

void conf_print(const struct conf *c, FILE *f)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0)
            fprintf(f, "%s[%s]\n", i ? "\n" : "", keys[i].section);
        value_print(f, c, &keys[i]);
    }
}

static size_t value_bytes(const struct conf_key *k)
{
    static const size_t bytes[] = { [STR] = CONF_STR_BYTES,
                                    [INT] = sizeof(uint32_t),
                                    [MODE] = sizeof(uint32_t),
                                    [REAL] = sizeof(double),
                                    [SIZE] = sizeof(uint64_t) };
    return bytes[k->type];
}

void conf_keep_fixed(struct conf *to, const struct conf *running, char ret[CONF_FIXED_BYTES])
{
    ret[0] = '\0';
    for (const struct conf_key *k = keys; k < keys + N_KEYS; k++) {
        char *x = (char *) to + k->offset;
        const char *is = (const char *) running + k->offset;
        bool same = k->type == STR ? strcmp(x, is) == 0 : memcmp(x, is, value_bytes(k)) == 0;
        size_t used = strlen(ret);
        if (same || k->read != START)
            continue;
        memcpy(x, is, value_bytes(k));
        snprintf(ret + used, CONF_FIXED_BYTES - used, "%s%s.%s", used ? " " : "", k->section,
                 k->key);
    }
}
