/* SPDX-License-Identifier: MIT */
#include "daemon/conf_check.h"
#include "daemon/models/folders.h"
#include "daemon/models/pins.h"
#include "daemon/models/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <rill.h>
#include <string.h>
#include <unistd.h>

struct checking {
    const struct conf *conf;
    const char *key; /* the setting that names it */
    void (*tell)(char *words);
    bool good;
};

static void fault_report(struct checking *k, const char *key, const char *name, const char *why)
{
    char words[CONF_STR_BYTES + FOLDERS_WHY_BYTES + 80];
    snprintf(words, sizeof words, "%s: '%s': %s", key, name, why);
    k->tell(words);
    k->good = false;
}

static bool name_check(void *arg, const char *name)
{
    struct checking *k = arg;
    char why[FOLDERS_WHY_BYTES];
    if (!model_exists(k->conf->models_model_path, name, why))
        fault_report(k, k->key, name, why);
    return true;
}

static bool folder_is_default(const char *dir)
{
    struct conf defaults;
    char of[CONF_STR_BYTES];
    conf_defaults(&defaults);
    for (unsigned i = 0; folders_part(defaults.models_model_path, i, of, sizeof of); i++)
        if (strcmp(of, dir) == 0)
            return true;
    return false;
}

static void folders_check(struct checking *k)
{
    char dir[CONF_STR_BYTES];
    for (unsigned i = 0; folders_part(k->conf->models_model_path, i, dir, sizeof dir); i++) {
        if (!dir[0])
            continue;
        if (dir[0] != '/') {
            fault_report(k, "models.model_path", dir, "must begin with /; it would be passed over");
            continue;
        }
        int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), why = errno;
        if (fd >= 0)
            close(fd);
        else if (why != ENOENT || !folder_is_default(dir))
            fault_report(k, "models.model_path", dir, strerror(why));
    }
}

/* Checks every line, since a bad one keeps all models from loading. */
static void pins_check(struct checking *k)
{
    uint8_t sha256[32];
    char why[512];
    if (*k->conf->models_pins && pin_find(k->conf->models_pins, "", sha256, why, sizeof why) < 0) {
        k->tell(why);
        k->good = false;
    }
}

static void group_check(struct checking *k, const char *key, const char *group)
{
    if (*group && !getgrnam(group))
        fault_report(k, key, group, "there is no such group");
}

static void runtime_check(struct checking *k)
{
    rill_error err = { .text = "" };
    if (rill_runtime_check(k->conf->daemon_runtime, NULL, &err) != RILL_OK)
        fault_report(k, "daemon.runtime", k->conf->daemon_runtime, err.text);
}

bool conf_check(const struct conf *c, void (*tell)(char *words))
{
    struct checking k = { .conf = c, .tell = tell, .good = true, .key = "models.default_model" };
    runtime_check(&k);
    group_check(&k, "daemon.socket_group", c->daemon_socket_group);
    group_check(&k, "http.socket_group", c->http_socket_group);
    folders_check(&k);
    name_check(&k, c->models_default_model);
    k.key = "models.preload";
    model_names_each(c->models_preload, name_check, &k);
    pins_check(&k);
    return k.good;
}
