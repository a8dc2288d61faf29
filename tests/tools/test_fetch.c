/* SPDX-License-Identifier: MIT */
/* rill models get against a server on the loopback: right and wrong weights, redirects, errors.
 * test_fetch RILL */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY "these are the weights"

static unsigned passed, failed;
static const char *rill;
static char dir[] = "/tmp/rill-fetch-XXXXXX";
static int port;

/* ---- server: one request a connection ---- */

static const struct {
    const char *path, *answer;
} pages[] = {
    { "/good", "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n" BODY },
    { "/other", "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nthese are no weights." },
    { "/long", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n" BODY "and more." },
    { "/short", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthese" },
    { "/stuck", "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nthese" },
    { "/moved", "HTTP/1.1 302 Found\r\nLocation: /good\r\nContent-Length: 0\r\n\r\n" },
    { "/round", "HTTP/1.1 302 Found\r\nLocation: /round\r\nContent-Length: 0\r\n\r\n" },
    { "/file",
      "HTTP/1.1 302 Found\r\nLocation: file:///etc/hostname\r\nContent-Length: 0\r\n\r\n" },
};

static void answer(int fd)
{
    char request[2048] = "", path[64] = "";
    const char *reply = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    if (read(fd, request, sizeof request - 1) > 0 && sscanf(request, "GET %63s", path) == 1)
        for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
            if (!strcmp(pages[i].path, path))
                reply = pages[i].answer;
    if (write(fd, reply, strlen(reply)) < 0)
        perror("write");
    if (!strcmp(path, "/stuck") && read(fd, request, 1) > 0) /* until the other side is gone */
        perror("read");
    shutdown(fd, SHUT_WR);
    close(fd);
}

static void *serve(void *arg)
{
    for (int fd; (fd = accept(*(int *) arg, NULL, NULL)) >= 0;)
        answer(fd);
    return NULL;
}

static int server_start(void)
{
    static int listener;
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof a;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *) &a, len) || listen(listener, 8) ||
        getsockname(listener, (struct sockaddr *) &a, &len) ||
        pthread_create(&thread, NULL, serve, &listener))
        return -1;
    port = ntohs(a.sin_port);
    return 0;
}

/* ---- the library that points to it ---- */

static void text_write(const char *path, const char *fmt, ...)
{
    char full[256];
    va_list ap;
    snprintf(full, sizeof full, "%s/%s", dir, path);
    FILE *f = fopen(full, "w");
    if (!f)
        exit(1);
    va_start(ap, fmt);
    vfprintf(f, fmt, ap);
    va_end(ap);
    fclose(f);
}

static void folder_make(const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", dir, name);
    mkdir(full, 0755);
}

static void library_make(const char *sha256)
{
    folder_make("library");
    folder_make("library/net");
    text_write("library/net/graph.nnef",
               "version 1.0;\ngraph net(x) -> (y) { x = external<scalar>(shape = [S]); y = x; }\n");
    text_write("sha256", "%s", sha256);
}

static void conf_write(const char *scheme, const char *page)
{
    char sha[80] = "", full[256];
    snprintf(full, sizeof full, "%s/sha256", dir);
    FILE *f = fopen(full, "r");
    if (!f || !fgets(sha, sizeof sha, f))
        exit(1);
    fclose(f);
    text_write("library/net/model.conf",
               "[model]\ntask = denoise\nsample_rate = 16000\nlicence = MIT\nsummary = a test\n"
               "[weights.net.onnx]\nurl = %s://127.0.0.1:%d%s\nsha256 = %.64s\nbytes = 21\n",
               scheme, port, page, sha);
}

/* Fetches into folders that are not there; code and words must be as said, and the weights there
 * exactly when code is 0, and else no folder. */
static void expect(const char *scheme, const char *page, int code, const char *words)
{
    char command[1024], said[2048] = "", path[300];
    struct stat st;
    conf_write(scheme, page);
    snprintf(command, sizeof command,
             "rm -rf %s/got; RILL_LIBRARY=%s/library %s models get net --to %s/got/new 2>&1", dir,
             dir, rill, dir);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(said, 1, sizeof said - 1, f) : 0;
    said[n] = 0;
    int status = f ? pclose(f) : -1, got = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    snprintf(path, sizeof path, "%s/got/new/net/net.onnx", dir);
    int there = stat(path, &st) == 0;
    snprintf(path, sizeof path, "%s/got", dir);
    int left = stat(path, &st) == 0 && code != 0;
    if (got == code && strstr(said, words) && there == (code == 0) && !left) {
        passed++;
        return;
    }
    failed++;
    printf("FAILED %s: exit %d, wanted %d and '%s', weights %d, folder left %d: %s\n", page, got,
           code, words, there, left, said);
}

/* A folder that was there before stays, empty as it was. */
static void expect_kept(void)
{
    char command[1024], path[300];
    struct stat st;
    conf_write("http", "/other");
    folder_make("mine");
    snprintf(command, sizeof command,
             "RILL_LIBRARY=%s/library %s models get net --to %s/mine/new >/dev/null 2>&1", dir,
             rill, dir);
    int status = system(command);
    snprintf(path, sizeof path, "%s/mine", dir);
    bool kept = stat(path, &st) == 0;
    snprintf(path, sizeof path, "%s/mine/new", dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3 && kept && stat(path, &st))
        passed++;
    else
        printf("FAILED: a folder that was there, or one that was not: %u\n", ++failed);
}

static bool is_there(const char *name)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

/* What a run left that was killed is taken away; what one is filling now, or is something else,
 * is not. */
static void expect_left_over_gone(void)
{
    char command[1024], path[300];
    conf_write("http", "/good");
    folder_make("shelf");
    folder_make("shelf/.net.get-killed");
    text_write("shelf/.net.get-killed/net.onnx.part", "half");
    folder_make("shelf/.net.get-inuse0");
    folder_make("shelf/.net.backup");
    folder_make("shelf/.net.get-longer7");
    snprintf(path, sizeof path, "%s/shelf/.net.get-inuse0", dir);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    snprintf(command, sizeof command,
             "RILL_LIBRARY=%s/library %s models get net --to %s/shelf >/dev/null 2>&1", dir, rill,
             dir);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0 && system(command) == 0 &&
        is_there("shelf/net/net.onnx") && !is_there("shelf/.net.get-killed") &&
        is_there("shelf/.net.get-inuse0") && is_there("shelf/.net.backup") &&
        is_there("shelf/.net.get-longer7"))
        passed++;
    else
        printf("FAILED: what a killed run left, or one that runs: %u\n", ++failed);
    close(fd);
}

/* A run that is killed as it fetches leaves what the next one takes away. */
static void expect_killed(void)
{
    char command[1024];
    conf_write("http", "/stuck");
    snprintf(command, sizeof command,
             "mkdir %s/dead; RILL_LIBRARY=%s/library timeout -s KILL 1 %s models get net --to "
             "%s/dead >/dev/null 2>&1; ls -A %s/dead | grep -q '^\\.net\\.get-......$'",
             dir, dir, rill, dir, dir);
    bool left = system(command) == 0;
    conf_write("http", "/good");
    snprintf(command, sizeof command,
             "RILL_LIBRARY=%s/library %s models get net --to %s/dead >/dev/null 2>&1 && "
             "test \"$(ls -A %s/dead)\" = net",
             dir, rill, dir, dir);
    if (left && system(command) == 0)
        passed++;
    else
        printf("FAILED: a run that was killed (left something: %d): %u\n", left, ++failed);
}

int main(int argc, char **argv)
{
    char command[300], sum[80] = "";
    rill = argc > 1 ? argv[1] : "rill";
    if (!mkdtemp(dir) || server_start())
        return 1;
    snprintf(command, sizeof command, "printf '%%s' '%s' | sha256sum", BODY);
    FILE *f = popen(command, "r");
    if (!f || !fgets(sum, sizeof sum, f) || pclose(f))
        return 1;
    sum[64] = 0;
    library_make(sum);
    setenv("RILL_TEST_ALLOW_HTTP", "1", 1);
    unsetenv("http_proxy");
    expect("http", "/good", 0, "net is in");
    expect("http", "/moved", 0, "net is in");
    expect("http", "/other", 3, "/other: its SHA-256 is ");
    expect("http", "/other", 3, sum);
    expect("http", "/short", 3, "/short: has 5 bytes, expected 21; not kept");
    expect("http", "/long", 3, "larger than the 21 bytes");
    expect("http", "/nothing", 4, "404");
    expect("http", "/round", 4, "redirect");
    expect("http", "/file", 4, "rotocol");
    expect_kept();
    expect_left_over_gone();
    expect_killed();
    unsetenv("RILL_TEST_ALLOW_HTTP");
    expect("http", "/good", 4, "rotocol");
    expect("https", "/good", 4, "--from DIR");
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command))
        failed++;
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
