/* SPDX-License-Identifier: MIT */
/* rilld: streaming audio inference over a Unix socket. Start reading in run.c. */
#include "daemon/models/check.h"
#include "daemon/conf_check.h"
#include "daemon/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <unistd.h>

#define DEFAULT_CONFIG RILLD_CONFIG /* from the build: where the settings are installed */

static const char help[] =
    "Usage: rilld [OPTION]...\n"
    "Runs audio models for many clients over a Unix socket.\n"
    "\n"
    "  -c, --config FILE    settings (default " DEFAULT_CONFIG ", which may be missing);\n"
    "                       conf.d/*.conf beside it is read after it\n"
    "      --check-config   read the settings, look for the folders, models, pins and group\n"
    "                       that they name, say what is wrong, and exit\n"
    "      --print-config   print every setting with its help and default, and exit;\n"
    "                       with --config: print the settings that are in force\n"
    "      --foreground     accepted; rilld always stays in the foreground\n"
    "  -V, --version        print the version, and exit\n"
    "  -h, --help           print this, and exit\n"
    "\n"
    "SIGHUP reads the settings again, SIGTERM finishes the open streams and exits.\n";

enum { OPT_CHECK = 256, OPT_PRINT, OPT_FOREGROUND };

struct options {
    const char *config;
    bool check, print;
};

/* The exit code of what only prints. */
static int printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "rilld: standard output: %s\n", strerror(errno));
    return 1;
}

/* Exit code, or -1 to go on. */
static int options_parse(struct options *o, int argc, char **argv)
{
    static const struct option table[] = {
        { "config", required_argument, NULL, 'c' },
        { "check-config", no_argument, NULL, OPT_CHECK },
        { "print-config", no_argument, NULL, OPT_PRINT },
        { "foreground", no_argument, NULL, OPT_FOREGROUND },
        { "version", no_argument, NULL, 'V' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;
    while ((c = getopt_long(argc, argv, "c:Vh", table, NULL)) >= 0) {
        switch (c) {
        case 'c': o->config = optarg; break;
        case OPT_CHECK: o->check = true; break;
        case OPT_PRINT: o->print = true; break;
        case OPT_FOREGROUND: break;
        case 'V': puts("rilld " RILL_VERSION); return printed();
        case 'h': fputs(help, stdout); return printed();
        default: return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "rilld: '%s' is no option; see --help\n", argv[optind]);
        return 2;
    }
    return -1;
}

/* Opens /dev/null for standard descriptors that are closed: the next file or socket would get the
 * number and what is written to the log. Standard output is opened read-only, so that writing to it
 * still fails. */
static bool standard_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

/* The message quotes settings, which may hold any bytes. */
static void fault_print(char *words)
{
    log_clean(words);
    fprintf(stderr, "rilld: %s\n", words);
}

int main(int argc, char **argv)
{
    struct options o = { .config = NULL };
    if (!standard_open())
        return 1;
    if (argc > 1 && strcmp(argv[1], "--check-model") == 0)
        return check_main(argc, argv);
    char err[CONF_ERROR_BYTES];
    int code = options_parse(&o, argc, argv);
    if (code >= 0)
        return code;
    if (o.print && !o.config) {
        conf_print_template(stdout);
        return printed();
    }
    struct daemon_parts *p = daemon_new();
    if (!p) {
        fputs("rilld: out of memory\n", stderr);
        return 1;
    }
    signals_hold();
    p->life.conf_may_miss = !o.config;
    snprintf(p->life.conf_path, sizeof p->life.conf_path, "%s",
             o.config ? o.config : DEFAULT_CONFIG);
    if (!conf_load(&p->conf, p->life.conf_path, p->life.conf_may_miss, err)) {
        fault_print(err);
        code = 1;
    } else if (o.print) {
        conf_print(&p->conf, stdout);
        code = printed();
    } else if (o.check) {
        code = conf_check(&p->conf, fault_print) ? 0 : 1;
    } else {
        log_init(&p->log, p->conf.log_level, p->conf.log_format, p->conf.log_journal_socket,
                 p->conf.log_client_lines_per_s);
        code = daemon_run(p);
        log_end(&p->log);
    }
    free(p);
    return code;
}
