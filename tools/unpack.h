/* SPDX-License-Identifier: MIT */
/* unpack.h - weights that are members of an archive. */
#ifndef TOOLS_UNPACK_H
#define TOOLS_UNPACK_H
#include "models/conf.h"

/* Writes the weights of conf that are members of its archive `archive`, which lies at path, into
 * folder. Each must have the bytes and the SHA-256 that conf says; links, paths that lead out and
 * archives that hold much more than the members are refused. On failure a part of them may be
 * there: the folder is the caller's to drop. */
rill_status weights_unpack(const struct model_conf *conf, const struct conf_weights *archive,
                           const char *path, const char *folder, rill_error *reterr);

/* Digits of a SHA-256, and a 0 byte. */
#define SUM_HEX_BYTES 65
void sum_hex(const uint8_t sum[32], char ret[SUM_HEX_BYTES]);

/* Whether what is named so in messages has the sum that w says. */
rill_status weights_sum_check(const struct conf_weights *w, const char *name, const uint8_t sum[32],
                              rill_error *reterr);
#endif
