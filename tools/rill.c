/* SPDX-License-Identifier: MIT */
/* rill: the tool. One command a file; this table names them. */
#include "tools/tool.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
    &cmd_bench,   &cmd_check,      &cmd_compile, &cmd_conformance, &cmd_convert,
    &cmd_ctl,     &cmd_denoise,    &cmd_devices, &cmd_feed,        &cmd_inspect,
    &cmd_keyword, &cmd_listen,     &cmd_live,    &cmd_models,      &cmd_pipe,
    &cmd_plot,    &cmd_quantize,   &cmd_run,     &cmd_runtimes,    &cmd_stream,
    &cmd_top,     &cmd_transcribe, &cmd_vad,     &cmd_verify,      &cmd_wer,
};

#define N_COMMANDS (sizeof commands / sizeof *commands)

static void overview_print(FILE *to)
{
    fprintf(to,
            "rill %s makes audio models stream.\n\nUsage: rill COMMAND [ARGUMENTS]\n\nCommands:\n",
            rill_version());
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(to,
            "\n'rill COMMAND --help' explains one. Exit codes: 0 fine, 1 a check failed, 2 usage, "
            "3 unusable input,\n"
            "4 file, device or socket error, 5 refused by the daemon.\n");
}

/* For the scripts that make manual pages and completions; `rill COMMAND --options` has the rest. */
static int commands_print(void)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        printf("%s\t%s\t%s\n", commands[i]->name, commands[i]->usage, commands[i]->summary);
    return TOOL_OK;
}

/* What is closed would be the number of the next file or socket that is opened, and get what is
 * meant for standard output. Read only: input ends at once, and what is written fails. */
static bool standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
            return false;
    return true;
}

static int command_run(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--commands"))
        return commands_print();
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        overview_print(argc < 2 ? stderr : stdout);
        return argc < 2 ? TOOL_USAGE : TOOL_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("rill %s\n", rill_version());
        return TOOL_OK;
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(argv[1], commands[i]->name))
            return commands[i]->run(commands[i], argc - 1, argv + 1);
    fprintf(stderr, "rill: unknown command '%s'\n\n", argv[1]);
    overview_print(stderr);
    return TOOL_USAGE;
}

int main(int argc, char **argv)
{
    if (!standard_open())
        return TOOL_IO;
    return tool_end(command_run(argc, argv));
}
