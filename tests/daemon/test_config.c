/* SPDX-License-Identifier: MIT */
/* Settings: each mistake is found with its file and line, and the template is what the code
 * says. */
#include "tests/daemon/harness.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/rilld-conf-XXXXXX";

static void bytes_write(const char *name, const char *text, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f)
        give_up("%s: %s", path, strerror(errno));
    fwrite(text, 1, n, f);
    fclose(f);
}

static void file_write(const char *name, const char *text)
{
    bytes_write(name, text, strlen(text));
}

static const char *rilld_says(const char *args, int *ret_code)
{
    return program_says(getenv("RILLD"), args, ret_code);
}

static const char *check(int *ret_code)
{
    char args[128];
    snprintf(args, sizeof args, "--check-config --config %s/rilld.conf", dir);
    return rilld_says(args, ret_code);
}

static void test_good(const char *text)
{
    int code;
    file_write("rilld.conf", text);
    const char *out = check(&code);
    CHECK(code == 0 && !*out, "%s", out);
}

/* where: "file:line:" within the folder, what: part of the words. */
static void test_bad(const char *text, const char *where, const char *what)
{
    char place[128];
    int code;
    file_write("rilld.conf", text);
    const char *out = check(&code);
    snprintf(place, sizeof place, "%s/%s", dir, where);
    CHECK(code == 1 && strstr(out, place) && strstr(out, what), "for \"%s\": %s", text, out);
}

/* One that cannot compute here is told before the daemon runs, and stops it. */
static void test_runtime(void)
{
    int code;
    char args[256];
    test_good("[daemon]\nruntime = gpu-or-cpu\n");
    file_write("rilld.conf", "[daemon]\nruntime = none\n");
    const char *out = check(&code);
    CHECK(code == 1 && strstr(out, "daemon.runtime: 'none'"), "%s", out);
    snprintf(args, sizeof args, "--config %s/rilld.conf", dir);
    out = rilld_says(args, &code);
    CHECK(code == 1 && strstr(out, "daemon.runtime: 'none'"), "%s", out);
}

static void test_mistakes(void)
{
    test_bad("[daemon]\ncolour = red\n", "rilld.conf:2:", "'colour' is no key of [daemon]");
    test_bad("# one\n\n[paint]\ncolour = red\n", "rilld.conf:3:", "'paint' is no section");
    test_bad("[foo]\n", "rilld.conf:1:", "'foo' is no section");
    test_bad("[daemon]\nworkers = 2\n[]\n[log]\n", "rilld.conf:3:", "'' is no section");
    test_bad("[daemon;x]\n", "rilld.conf:1:", "'daemon;x' is no section");
    test_bad("[ daemon ] # c\n", "rilld.conf:1:", "' daemon ' is no section");
    test_bad("\xef\xbb\xbf  [daemo]", "rilld.conf:1:", "'daemo' is no section");
    test_bad("[daemon]\nworkers = two\n", "rilld.conf:2:", "workers must be a whole number");
    test_bad("[daemon]\nworkers = 65\n", "rilld.conf:2:", "must be within 0 and 64");
    test_bad("[daemon]\nworkers = -1\n", "rilld.conf:2:", "without a sign");
    test_bad("[daemon]\nworkers = 2s\n", "rilld.conf:2:", "without a sign or unit");
    test_bad("[daemon]\nworkers =\n", "rilld.conf:2:", "workers");
    test_bad("[daemon]\n\nsocket_mode = 0980\n", "rilld.conf:3:", "octal");
    test_bad("[daemon]\nsocket_mode = 01777\n", "rilld.conf:2:", "octal");
    test_bad("[limits]\nrtf_budget = nan\n", "rilld.conf:2:", "must be a number");
    test_bad("[limits]\nrtf_budget = 0x10\n", "rilld.conf:2:", "must be a number");
    test_bad("[limits]\nrtf_budget = 0\n", "rilld.conf:2:", "within 0.01");
    test_bad("[limits]\nmax_connections = 99999999999999999999\n",
             "rilld.conf:2:", "max_connections");
    test_bad("[limits]\nmemory_max = 1K\n", "rilld.conf:", "at least four times max_message_bytes");
    test_bad("[limits]\nmemory_max = 1Q\n", "rilld.conf:2:", "with K, M, G or T behind it");
    test_bad("[limits]\nmemory_max = 1MB\n", "rilld.conf:2:", "with K, M, G or T behind it");
    test_bad("[limits]\nmemory_max = M\n", "rilld.conf:2:", "memory_max must be a whole number");
    test_bad("[limits]\nmemory_max = -1\n", "rilld.conf:2:", "memory_max must be a whole number");
    test_bad("[limits]\nmemory_max = 2000T\n", "rilld.conf:2:", "must be within 0 and 1024T");
    test_bad("[limits]\nmemory_max = 18446744073709551615T\n",
             "rilld.conf:2:", "within 0 and 1024T");
    test_bad("[log]\nlevel = loudly\n", "rilld.conf:2:", "level must be");
    test_bad("[log]\nlevel = trace\n", "rilld.conf:2:", "one of: error warning info debug");
    test_bad("[overload]\npolicy = xx\n", "rilld.conf:2:", "one of: model bypass skip shed off");
    test_bad("[daemon]\nsocket = /tmp/x\ncontrol_socket = /tmp/x\n",
             "rilld.conf:", "the same path");
    test_bad("[limits]\noutput_soft_ms = 5000\noutput_hard_ms = 1000\n",
             "rilld.conf:", "output_soft_ms must not be over");
    static const char *const nowhere[] = {
        "9464",          ":9464",
        "127.0.0.1",     "127.0.0.1:",
        "127.0.0.1:-1",  "127.0.0.1:65536",
        "localhost:80",  "::1:9464",
        "127.0.0.1:80x", "[127.0.0.1]:80",
        "[::1]",         "[::1]9464",
        "1.2.3.4.5:80",  "127.0.0.1:000080",
        "[]:1",          "@name",
    };
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        char line[80];
        snprintf(line, sizeof line, "[http]\nlisten = %s\n", nowhere[i]);
        test_bad(line, "rilld.conf:2:", "must be a path (with a / in it), or a numeric address");
    }
    test_good("[http]\nlisten = 127.0.0.1:9464\nhealth_listen = [::1]:0\n");
    test_good("[limits]\nmax_frame_bytes = 8192\n"); /* the earlier name of a key */
    test_bad("[limits]\nmax_frame_bytes = 1\n", "rilld.conf:2:", "must be within 4096 and");
    test_good("[http]\nlisten = ./x\nhealth_listen = /tmp/y:80\n");
    test_bad("[http]\nlisten = /tmp/x\nhealth_listen = /tmp/x\n", "rilld.conf:", "are one socket");
    test_bad("[daemon]\nsocket = /tmp/x\n[http]\nlisten = /tmp/x\n", "rilld.conf:", "one socket");
    test_bad("[daemon]\nthis is nothing\n", "rilld.conf:2:", "neither");
    test_bad("workers = 1\n", "rilld.conf:1:", "is no section");
    char text[512];
    snprintf(text, sizeof text, "[daemon]\nsocket = /%0150d\n", 1);
    test_bad(text, "rilld.conf:2:", "1 to 107 characters");
    snprintf(text, sizeof text, "[daemon]\n# fine\nsocket = /%0300d\nworkers = 1\n", 1);
    test_bad(text, "rilld.conf:3:", "longer than 198 bytes");
    snprintf(text, sizeof text, "[models]\nmodel_path = /%0185d\n", 1); /* 199 */
    test_bad(text, "rilld.conf:2:", "longer than 198 bytes");
    test_bad("[models]\nmodel_path = /a\n  :/b\n", "rilld.conf:3:", "'' is no key of [models]");
    test_bad("[daemon]\nsocket = /x\n  colour = red\n", "rilld.conf:3:", "'colour' is no key");

    int code;
    const char *out = rilld_says("--check-config --config /dev/zero", &code);
    CHECK(code == 1 && strstr(out, "is no file"), "%s", out);
    out = rilld_says("--check-config --config /dev/null", &code);
    CHECK(code == 0, "%s", out);
}

/* Bytes that would make lines, or what follows them, vanish without a word. */
static void test_hidden(void)
{
    static const struct {
        const char *text;
        size_t n;
        const char *where, *what;
    } rows[] = {
/* clang-format off */
#define ROW(text, where, what) { text, sizeof text - 1, where, what }
        /* clang-format on */
        ROW("[daemon]\n\0workers = 99999\n", "rilld.conf:2:", "a byte of value 0"),
        ROW("[daemon]\nworkers = 2\0 garbage", "rilld.conf:2:", "a byte of value 0"),
        ROW("abc\0def\n", "rilld.conf:1:", "a byte of value 0"),
        ROW("# comment\n# \0\n", "rilld.conf:2:", "a byte of value 0"),
        ROW("[daemon] workers = 99999\n", "rilld.conf:1:", "after ]"),
        ROW("# one\n  [daemon]workers = 2\n", "rilld.conf:2:", "after ]"),
        ROW("\xef\xbb\xbf[daemon] workers = 2\n", "rilld.conf:1:", "after ]"),
        ROW("[daemon]\rworkers = 99999\r", "rilld.conf:1:", "a carriage return"),
        ROW("# comment\r[daemon]\rworkers = 99999\r", "rilld.conf:1:", "a carriage return"),
        ROW("[daemon]\r\nworkers = 2\rbatch = 4\r\n", "rilld.conf:2:", "a carriage return"),
#undef ROW
    };
    char place[128];
    int code;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bytes_write("rilld.conf", rows[i].text, rows[i].n);
        const char *out = check(&code);
        snprintf(place, sizeof place, "%s/%s", dir, rows[i].where);
        CHECK(code == 1 && strstr(out, place) && strstr(out, rows[i].what), "row %zu: %s", i, out);
    }
    test_good("[daemon]\r\nworkers = 2\r\n[log] ; comment\r\n[limits]\t# comment\n[models];\n\r\n");
    test_good("\xef\xbb\xbf[daemon]\nworkers = 2\r");
}

/* What the settings name must be there: the words say which setting and what. */
static void test_names(const char *text, const char *what)
{
    int code;
    file_write("rilld.conf", text);
    const char *out = check(&code);
    CHECK(code == (*what ? 1 : 0) && strstr(out, what), "for \"%s\": %s", text, out);
}

static void test_named(void)
{
    char text[512], path[128], hex[65];
    test_names("[models]\ndefault_model = nosuch\n",
               "models.default_model: 'nosuch': no model of that name is built in or in "
               "model_path");
    test_names("[models]\ndefault_model = ../x\n", "begins with no dot");
    test_names("[models]\npreload = wiener nosuch half\n", "models.preload: 'nosuch': no model");
    test_names("[models]\npreload = wiener half\n", "");
    test_names("[models]\npreload =\n", "");
    test_names("[models]\nmodel_path = here:/nonexistent\n", "models.model_path: 'here': must");
    test_names("[models]\nmodel_path = /tmp:/nonexistent\n",
               "models.model_path: '/nonexistent': No such file");
    test_names("[models]\nmodel_path = /dev/null\n", "'/dev/null': Not a directory");
    test_names("[models]\nmodel_path = /var/lib/rill/models:/usr/share/rill/models\n", "");
    test_names("[models]\nmodel_path =\n", "");
    test_names("[daemon]\nsocket_group = no-such-group-here\n",
               "daemon.socket_group: 'no-such-group-here': there is no such group");
    test_names("[daemon]\nsocket_group = root\n", "");
    test_names("[http]\nsocket_group = no-such-group-here\n",
               "http.socket_group: 'no-such-group-here': there is no such group");
    test_names("[models]\npins = /nonexistent/pins\n", "models.pins: /nonexistent/pins: No such");
    memset(hex, 'a', 64);
    hex[64] = '\0';
    snprintf(text, sizeof text, "# models\n%s  half\n", hex);
    file_write("pins", text);
    snprintf(path, sizeof path, "[models]\npins = %s/pins\n", dir);
    test_names(path, "");
    snprintf(text, sizeof text, "%s  half\n%s\n", hex, hex);
    file_write("pins", text);
    test_names(path, "pins:2 is no line of 64 hex digits");
    /* A folder of the path; one that cannot be searched is told. */
    snprintf(path, sizeof path, "%s/models", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/models/mine", dir);
    mkdir(path, 0700);
    snprintf(text, sizeof text, "[models]\nmodel_path = %s/models\npreload = mine\n", dir);
    test_names(text, "");
    snprintf(path, sizeof path, "%s/loop", dir);
    CHECK(symlink("loop", path) == 0);
    snprintf(text, sizeof text, "[models]\nmodel_path = %s/loop\npreload = mine\n", dir);
    test_names(text, "/loop of model_path cannot be searched for it: Too many levels");
    /* It may hold what a later folder or the daemon itself has. */
    snprintf(text, sizeof text, "[models]\nmodel_path = %s/loop:%s/models\npreload = mine\n", dir,
             dir);
    test_names(text, "preload: 'mine': the folder");
    snprintf(text, sizeof text, "[models]\nmodel_path = %s/loop\npreload = wiener\n", dir);
    test_names(text, "preload: 'wiener': the folder");
    /* Everything that is wrong is said at once. */
    test_names("[models]\ndefault_model = one\npreload = two\npins = /nonexistent/pins\n", "'one'");
    test_names("[models]\ndefault_model = one\npreload = two\npins = /nonexistent/pins\n", "'two'");
    test_names("[models]\ndefault_model = one\npreload = two\npins = /nonexistent/pins\n", "pins:");
}

/* The pins file with this text, `bytes` long. */
static void test_pins(const char *text, size_t bytes, const char *what)
{
    char conf[200], path[128];
    snprintf(path, sizeof path, "%s/pins", dir);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(text, 1, bytes, f) != bytes || fclose(f))
        give_up("%s: %s", path, strerror(errno));
    snprintf(conf, sizeof conf, "[models]\npins = %s\n", path);
    test_names(conf, what);
}

static void pins_text(const char *format, const char *what)
{
    char text[2000], a[65], b[65];
    memset(a, 'a', 64);
    memset(b, 'b', 64);
    a[64] = b[64] = '\0';
    snprintf(text, sizeof text, format, a, b);
    test_pins(text, strlen(text), what);
}

static void test_pin_lines(void)
{
    static char big[300 * 1024];
    char text[600];
    pins_text("%s  half\n%s *wiener", "");
    pins_text("  # indented\n\t%s half\r\n\n%s\twiener\n", "");
    pins_text("%s BAD/NAME\n", "pins:1 names 'BAD/NAME', which no model can have");
    pins_text("%s half\n# between\n%s half\n", "pins:3 has another sha256 for 'half' than line 1");
    pins_text("%1$s half\n%1$s half\n", "");
    snprintf(text, sizeof text, "#%0500d\n%%s half\n%%s\n", 1);
    pins_text(text, "pins:3 is no line");
    snprintf(text, sizeof text, "#%0500d\n%%s half\n", 1);
    pins_text(text, "");
    test_pins("# a\n\0\0\0\n", 8, "pins:2 has a zero byte");
    test_pins("\0", 1, "pins:1 has a zero byte");
    memset(big, '\n', sizeof big);
    test_pins(big, sizeof big, "is longer than 262144 bytes");
    test_pins(big, 262144, "");
}

/* What has no end or nobody writes to is told, not awaited. */
static void test_pin_files(void)
{
    char path[128], conf[200];
    test_names("[models]\npins = /dev/zero\n", "models.pins: /dev/zero: is no file");
    test_names("[models]\npins = /tmp\n", "models.pins: /tmp: is no file");
    test_names("[models]\npins = pins\n", "models.pins: pins: must begin with /");
    snprintf(path, sizeof path, "%s/fifo", dir);
    CHECK(mkfifo(path, 0600) == 0);
    snprintf(conf, sizeof conf, "[models]\npins = %s\n", path);
    test_names(conf, "fifo: is no file");
}

/* What the settings hold does not reach the terminal as it is. */
static void test_clean(const char *text)
{
    int code;
    file_write("rilld.conf", text);
    const char *out = check(&code);
    CHECK(code == 1 && strstr(out, "red") && !strpbrk(out, "\033\a\x7f"), "%s", out);
}

/* Blanks before a key mean nothing, nor does the length up to the most. */
static void test_lines(void)
{
    char args[128], text[512];
    int code;
    snprintf(text, sizeof text,
             "  [daemon]\n\tsocket = /x\n    workers = 2\n   ; comment\n[models]\n"
             "model_path = /%0184d\n",
             1);
    file_write("rilld.conf", text);
    snprintf(args, sizeof args, "--print-config --config %s/rilld.conf", dir);
    const char *out = rilld_says(args, &code);
    CHECK(code == 0 && strstr(out, "\nsocket = /x\n") && strstr(out, "\nworkers = 2\n") &&
              strstr(out, strstr(text, "model_path")),
          "%s", out);
}

static void test_drop_ins(void)
{
    char path[64], args[128];
    int code;
    snprintf(path, sizeof path, "%s/conf.d", dir);
    mkdir(path, 0700);
    file_write("rilld.conf", "[daemon]\nworkers = 1\n");
    file_write("conf.d/20-b.conf", "[daemon]\nworkers = 3\n");
    file_write("conf.d/10-a.conf", "[daemon]\nworkers = 2\n[log]\nlevel = debug\n");
    file_write("conf.d/30-c.txt", "not read");
    snprintf(args, sizeof args, "--print-config --config %s/rilld.conf", dir);
    const char *out = rilld_says(args, &code);
    CHECK(code == 0 && strstr(out, "\nworkers = 3\n") && strstr(out, "\nlevel = debug\n"), "%s",
          out);
    file_write("conf.d/20-b.conf", "[daemon]\nworkers = 3\n[log]\n[daemon]\nworkers = 3\n");
    out = rilld_says(args, &code);
    CHECK(code == 1 && strstr(out, "conf.d/20-b.conf:5: workers is given twice in this file"), "%s",
          out);
    file_write("conf.d/20-b.conf", "[daemon]\nworkers = many\n");
    out = rilld_says(args, &code);
    CHECK(code == 1 && strstr(out, "conf.d/20-b.conf:2:"), "%s", out);
}

static void test_template(void)
{
    static char file[1 << 16];
    int code;
    const char *out = rilld_says("--print-config", &code);
    FILE *f = fopen(getenv("RILLD_CONF"), "r");
    size_t n = f ? fread(file, 1, sizeof file - 1, f) : 0;
    file[n] = '\0';
    if (f)
        fclose(f);
    CHECK(code == 0 && n > 1000 && strcmp(out, file) == 0,
          "conf/rilld.conf is not what --print-config prints");
    /* With every comment sign before a key removed it is still a good file with the same
     * meaning. */
    static char all[1 << 16];
    size_t to = 0;
    for (size_t i = 0; i < n; i++)
        if (!(file[i] == '#' && file[i + 1] != ' '))
            all[to++] = file[i];
    all[to] = '\0';
    test_good(all);
}

static void test_options(void)
{
    int code;
    CHECK(strstr(rilld_says("--help", &code), "--check-config") && code == 0);
    CHECK(strncmp(rilld_says("--version", &code), "rilld ", 6) == 0 && code == 0);
    rilld_says("--nonsense", &code);
    CHECK(code == 2);
    rilld_says("extra", &code);
    CHECK(code == 2);
    rilld_says("--check-config --config /nonexistent/x.conf", &code);
    CHECK(code == 1);
}

int main(void)
{
    char cmd[64];
    if (!mkdtemp(dir))
        give_up("%s: %s", dir, strerror(errno));
    test_good("");
    test_good("; a comment\n[daemon]\nworkers = 4 ; inline\nsocket_mode = "
              "0600\n[limits]\nrtf_budget = 0.5\n");
    test_runtime();
    test_mistakes();
    test_hidden();
    test_lines();
    test_named();
    test_pin_lines();
    test_pin_files();
    test_clean("[models]\npreload = a\033[31mred\n");
    test_clean("[models]\nmodel_path = /\a\x7f/red\n");
    test_clean("[models]\ncolour\033[31mred = 1\n");
    test_clean("[log]\nlevel = \033[31mred\n");
    test_template();
    test_options();
    test_drop_ins();
    snprintf(cmd, sizeof cmd, "rm -rf '%s'", dir);
    CHECK(system(cmd) == 0);
    return check_end();
}
