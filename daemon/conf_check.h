/* SPDX-License-Identifier: MIT */
/* conf_check.h - settings that can be read and that the daemon could not work with. */
#ifndef RILL_DAEMON_CONF_CHECK_H
#define RILL_DAEMON_CONF_CHECK_H

#include "daemon/base/conf.h"

/* Looks for the folders, the models, the pins and the group that the settings name; loads nothing.
 * Calls tell with words, which it may change, for each that is not there or cannot be read. Folders
 * of the default model_path may be missing. True if all are well. */
bool conf_check(const struct conf *c, void (*tell)(char *words));

#endif
