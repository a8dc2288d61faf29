/* SPDX-License-Identifier: MIT */
#include "tools/beside.h"
#include "engine/base/err.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rill_status fail(const char *path, const char *why, rill_error *err)
{
    return err_set(err, RILL_IO, "'%.300s' cannot be written: %s", path, why);
}

rill_status beside_open(struct beside *b, const char *path, rill_error *reterr)
{
    struct stat there = { 0 }, link;
    bool is_there = stat(path, &there) == 0,
         is_file = is_there ? S_ISREG(there.st_mode) : lstat(path, &link) != 0;
    char *real = is_there && is_file ? realpath(path, NULL) : NULL;
    int n = snprintf(b->place, sizeof b->place, "%s", real ? real : path);
    free(real);
    b->name[0] = 0;
    if (is_file)
        n = snprintf(b->name, sizeof b->name, "%s.%ld.new", b->place, (long) getpid());
    if ((size_t) n >= sizeof b->name)
        return fail(path, strerror(ENAMETOOLONG), reterr);
    b->f = fopen(is_file ? b->name : path, is_file ? "wbx" : "wb");
    if (!b->f)
        return fail(path, strerror(errno), reterr);
    if (is_there && is_file)
        (void) !fchmod(fileno(b->f), there.st_mode & 0777);
    return RILL_OK;
}

rill_status beside_close(struct beside *b, bool fine, const char *why, rill_error *reterr)
{
    errno = 0;
    /* Only what is on the disk takes the place of what was there. */
    bool kept = fine && fflush(b->f) == 0 && (!b->name[0] || fsync(fileno(b->f)) == 0);
    int reason = errno;
    bool closed = fclose(b->f) == 0,
         whole = kept && closed && (!b->name[0] || rename(b->name, b->place) == 0);
    if (whole)
        return RILL_OK;
    reason = reason ? reason : errno;
    rill_status s = fail(b->place, fine && reason ? strerror(reason) : why, reterr);
    if (b->name[0])
        unlink(b->name);
    return s;
}
