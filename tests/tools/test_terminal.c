/* SPDX-License-Identifier: MIT */
/* What of a text stands in a line of a terminal: its end, whole characters, never more than
 * fits. */
#include "tests/check.h"
#include "tools/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_tail(const char *text, unsigned columns, const char *want)
{
    const char *got = terminal_tail(text, columns);
    CHECK(!strcmp(got, want), "%u columns of '%s': '%s', not '%s'", columns, text, got, want);
}

/* Every line of 0 to 300 columns ends as the text does, begins with a character and is the longest
 * that fits. */
static void test_long(const char *unit, unsigned width)
{
    char text[2048] = "";
    const size_t bytes = strlen(unit);
    while (strlen(text) + bytes < 900)
        strcat(text, unit);
    const size_t n = strlen(text) / bytes;
    unsigned wrong = 0;
    for (unsigned columns = 0; columns <= 300; columns++) {
        size_t fits = columns / width < n ? columns / width : n;
        wrong += strlen(terminal_tail(text, columns)) != fits * bytes;
    }
    CHECK(!wrong, "'%s': %u lines are too long, too short or cut within it", unit, wrong);
}

/* Where standard output is no terminal, and where nobody says a size that can be. */
static void test_size(const char *said, unsigned want)
{
    unsigned columns = 0, lines = 0;
    setenv("COLUMNS", said, 1);
    unsetenv("LINES");
    terminal_size(&columns, &lines);
    CHECK(columns == want && lines == 24, "COLUMNS=%s: %u x %u", said, columns, lines);
}

int main(void)
{
    test_tail("", 10, "");
    test_tail("", 0, "");
    test_tail("one two three", 80, "one two three");
    test_tail("one two three", 13, "one two three");
    test_tail("one two three", 12, "ne two three");
    test_tail("one two three", 0, "");
    test_tail("caf\xc3\xa9s", 2, "\xc3\xa9s");
    test_tail("caf\xc3\xa9s", 1, "s");
    test_tail("a\xe6\x97\xa5\xe6\x9c\xac", 4, "\xe6\x97\xa5\xe6\x9c\xac");
    test_tail("a\xe6\x97\xa5\xe6\x9c\xac", 3, "\xe6\x9c\xac");
    test_tail("a\xa5\xe6\x9c", 2, "\xe6\x9c");
    test_long("a", 1);
    test_long("\xc3\xa9", 1);
    test_long("\xe6\x97\xa5", 2);
    test_long("\xf0\x9f\x98\x80", 2);
    if (isatty(STDOUT_FILENO)) {
        check_skipped = 4;
        return check_done();
    }
    test_size("132", 132);
    test_size("", 80);
    test_size("-5", 80);
    test_size("99999999999", 80);
    return check_done();
}
