/* SPDX-License-Identifier: MIT */
#include "tools/tool.h"
#include "engine/base/arena.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena lists; /* of options; until the program ends */

#define OPTIONS_MAX 48
#define LONG_BASE 256 /* getopt values of options: LONG_BASE + index */

static void help_print(const struct command *cmd, const struct opt *table)
{
    printf("Usage: rill %s %s\n\n%s\n", cmd->name, cmd->usage, cmd->summary);
    if (cmd->details)
        printf("\n%s\n", cmd->details);
    printf("\nOptions:\n");
    for (const struct opt *o = table; o->name; o++) {
        if (!o->help)
            continue;
        char left[64], letter[8] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->arg ? " " : "",
                 o->arg ? o->arg : "");
        printf("  %-28s %s\n", left, o->help);
    }
    printf("  %-28s %s\n", "-h, --help", "this text");
}

/* The table for the scripts that make manual pages and completions: name, letter, value and help
 * between tabs. */
static void table_print(const struct opt *table)
{
    for (const struct opt *o = table; o->name; o++)
        if (o->help)
            printf("%s\t%.1s\t%s\t%s\n", o->name, &o->letter,
                   o->kind == OPT_FLAG ? ""
                       : o->arg        ? o->arg
                                       : "VALUE",
                   o->help);
}

static bool int_set(const struct opt_int *range, const char *text)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (!*text || *end || errno || v < range->least || v > range->most)
        return false;
    *range->to = v;
    return true;
}

static bool real_set(const struct opt_real *range, const char *text)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (!*text || *end || errno || !(v >= range->least && v <= range->most) || strpbrk(text, "xX"))
        return false;
    *range->to = v;
    return true;
}

static bool value_set(const struct opt *o, const char *text)
{
    switch (o->kind) {
    case OPT_FLAG: *(bool *) o->to = true; return true;
    case OPT_INT: return int_set(o->to, text);
    case OPT_REAL: return real_set(o->to, text);
    case OPT_TEXT: *(const char **) o->to = text; return true;
    case OPT_LIST: {
        struct opt_list *l = o->to;
        const char **more = arena_array(&lists, const char *, l->n + 2u);
        if (!more)
            return false;
        if (l->n)
            memcpy(more, l->item, l->n * sizeof *more);
        more[l->n++] = text;
        more[l->n] = NULL;
        l->item = more;
        return true;
    }
    }
    return false;
}

static int usage_fail(const struct command *cmd, const char *why, const char *what)
{
    fprintf(stderr, "rill %s: %s%s\nTry 'rill %s --help'.\n", cmd->name, why, what, cmd->name);
    return -TOOL_USAGE;
}

static int value_fail(const struct command *cmd, const struct opt *o, const char *text)
{
    char why[160];
    const struct opt_int *whole = o->to;
    const struct opt_real *real = o->to;
    if (o->kind == OPT_INT)
        snprintf(why, sizeof why, "--%s is a whole number from %lld to %lld, not ", o->name,
                 (long long) whole->least, (long long) whole->most);
    else if (o->kind == OPT_REAL)
        snprintf(why, sizeof why, "--%s is a number from %.10g to %.10g, not ", o->name,
                 real->least, real->most);
    else
        snprintf(why, sizeof why, "--%s: out of memory at ", o->name);
    char what[160];
    snprintf(what, sizeof what, "'%.150s'", text);
    return usage_fail(cmd, why, what);
}

static void table_convert(const struct opt *table, struct option *longs, char *letters)
{
    int n = 0;
    *letters++ = ':';
    *letters++ = 'h';
    for (const struct opt *o = table; o->name; o++, n++) {
        longs[n] = (struct option) { o->name, o->kind == OPT_FLAG ? no_argument : required_argument,
                                     NULL, LONG_BASE + n };
        if (!o->letter)
            continue;
        *letters++ = o->letter;
        if (o->kind != OPT_FLAG)
            *letters++ = ':';
    }
    longs[n++] = (struct option) { "help", no_argument, NULL, 'h' };
    longs[n] = (struct option) { 0 };
    *letters = 0;
}

static const struct opt *opt_of(const struct opt *table, int c)
{
    if (c >= LONG_BASE)
        return &table[c - LONG_BASE];
    for (const struct opt *o = table; o->name; o++)
        if (o->letter == c)
            return o;
    return NULL;
}

int opts_parse(const struct command *cmd, const struct opt *table, int argc, char **argv,
               int min_args, int max_args)
{
    if (argc == 2 && !strcmp(argv[1], "--options")) {
        table_print(table);
        exit(tool_end(TOOL_OK));
    }
    struct option longs[OPTIONS_MAX + 2];
    char letters[2 * OPTIONS_MAX + 4];
    table_convert(table, longs, letters);
    optind = 0;
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, letters, longs, NULL)) != -1;) {
        if (c == 'h') {
            help_print(cmd, table);
            exit(tool_end(TOOL_OK));
        }
        if (c == ':')
            return usage_fail(cmd, "an option wants a value: ", argv[optind - 1]);
        const struct opt *o = c == '?' ? NULL : opt_of(table, c);
        if (!o)
            return usage_fail(cmd, "unknown option: ", argv[optind - 1]);
        if (!value_set(o, optarg))
            return value_fail(cmd, o, optarg);
    }
    int n = argc - optind;
    if (n < min_args || (max_args >= 0 && n > max_args))
        return usage_fail(cmd, "wrong number of arguments; usage: ", cmd->usage);
    for (int i = 0; i < n; i++)
        argv[i] = argv[optind + i];
    return n;
}
