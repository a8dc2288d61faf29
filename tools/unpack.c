/* SPDX-License-Identifier: MIT */
#include "tools/unpack.h"
#include "models/tarball.h"

#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

static bool is_member_of(const struct conf_weights *w, const struct conf_weights *archive)
{
    return w->archive && !strcmp(w->archive, archive->file);
}

static const char *member_name(const struct conf_weights *w)
{
    return w->member ? w->member : w->file;
}

/* Of what is wanted of an archive; one of another size is told as such. */
static uint64_t members_bytes(const struct model_conf *c, const struct conf_weights *archive)
{
    uint64_t n = (uint64_t) 1 << 20;
    for (unsigned i = 0; i < c->n_weights; i++)
        if (is_member_of(&c->weights[i], archive))
            n += c->weights[i].bytes;
    return n;
}

struct unpacked {
    const struct model_conf *conf;
    const struct conf_weights *archive;
};

static bool is_wanted(const void *arg, const char *name)
{
    const struct unpacked *u = arg;
    for (unsigned i = 0; i < u->conf->n_weights; i++)
        if (is_member_of(&u->conf->weights[i], u->archive) &&
            !strcmp(member_name(&u->conf->weights[i]), name))
            return true;
    return false;
}

static const struct folder_file *member_find(const struct folder *f, const char *name)
{
    const struct folder_file *at = f->built_in;
    while (at && at->name && strcmp(at->name, name) != 0)
        at++;
    return at && at->name ? at : NULL;
}

void sum_hex(const uint8_t sum[32], char ret[SUM_HEX_BYTES])
{
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++)
        snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}

rill_status weights_sum_check(const struct conf_weights *w, const char *name, const uint8_t sum[32],
                              rill_error *reterr)
{
    char found[SUM_HEX_BYTES], wanted[SUM_HEX_BYTES];
    sum_hex(sum, found);
    sum_hex(w->sha256, wanted);
    return memcmp(sum, w->sha256, sizeof w->sha256) == 0
        ? RILL_OK
        : err_set(reterr, RILL_MALFORMED,
                  "%.250s: its SHA-256 is %s, not the one model.conf names, %s; not kept", name,
                  found, wanted);
}

static rill_status member_check(const struct conf_weights *w, const struct conf_weights *archive,
                                const struct folder_file *m, rill_error *reterr)
{
    uint8_t sum[SHA256_DIGEST_LENGTH];
    char name[256];
    SHA2_CTX sha;
    if (!m)
        return err_set(reterr, RILL_MALFORMED, "%.60s has no member '%.150s'", archive->file,
                       member_name(w));
    if (m->n != w->bytes)
        return err_set(reterr, RILL_MALFORMED,
                       "%.60s: member '%.150s' has %zu bytes, expected %llu", archive->file,
                       m->name, m->n, (unsigned long long) w->bytes);
    SHA256Init(&sha);
    SHA256Update(&sha, m->data, m->n);
    SHA256Final(sum, &sha);
    snprintf(name, sizeof name, "%.60s: member '%.150s'", archive->file, m->name);
    return weights_sum_check(w, name, sum, reterr);
}

static rill_status member_write(const char *folder, const char *file, const struct folder_file *m,
                                rill_error *reterr)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(m->data, 1, m->n, f) == m->n;
    ok = f && !fclose(f) && ok;
    return ok ? RILL_OK : err_set(reterr, RILL_IO, "%.300s: %s", path, strerror(errno));
}

static rill_status members_write(const struct model_conf *conf, const struct conf_weights *archive,
                                 const struct folder *all, const char *folder, rill_error *reterr)
{
    for (unsigned i = 0; i < conf->n_weights; i++) {
        const struct conf_weights *w = &conf->weights[i];
        if (!is_member_of(w, archive))
            continue;
        const struct folder_file *m = member_find(all, member_name(w));
        TRY(member_check(w, archive, m, reterr));
        TRY(member_write(folder, w->file, m, reterr));
    }
    return RILL_OK;
}

rill_status weights_unpack(const struct model_conf *conf, const struct conf_weights *archive,
                           const char *path, const char *folder, rill_error *reterr)
{
    struct arena a = { 0 };
    struct folder all;
    const struct unpacked u = { conf, archive };
    const struct tarball_wanted wanted = { is_wanted, &u };
    rill_status s = tarball_members(&all, path, &wanted, &a, members_bytes(conf, archive), reterr);
    s = s == RILL_OK ? members_write(conf, archive, &all, folder, reterr)
                     : err_prefix(reterr, s, "%.60s", archive->file);
    arena_drop(&a);
    return s;
}
