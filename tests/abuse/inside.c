/* SPDX-License-Identifier: MIT */
/* Stands for a daemon: runs $RILLD_INSIDE with its arguments, with memory that is never both
 * written and run (INSIDE=mdwe), or with its system calls written to $INSIDE_LOG (INSIDE=strace).
 * Exit 77 where that is not to be had. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SET_MDWE 65 /* PR_SET_MDWE of Linux 6.3 */
#define REFUSE_EXEC_GAIN 1

int main(int argc, char **argv)
{
    const char *how = getenv("INSIDE"), *daemon = getenv("RILLD_INSIDE"),
               *log = getenv("INSIDE_LOG");
    char *line[64] = { NULL };
    int n = 0;
    if (!how || !daemon)
        return 2;
    if (strcmp(how, "mdwe") == 0) {
        if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) < 0)
            return 77;
    } else if (log) {
        /* -D: the daemon keeps this process, for signals and waiting. */
        const char *const strace[] = { "strace",      "-D", "-f", "-qq", "-e",
                                       "signal=none", "-A", "-o", log };
        for (size_t i = 0; i < sizeof strace / sizeof *strace; i++)
            line[n++] = (char *) (size_t) strace[i];
    }
    line[n++] = (char *) (size_t) daemon;
    for (int i = 1; i < argc && n < 63; i++)
        line[n++] = argv[i];
    execvp(line[0], line);
    return 77;
}
