/* SPDX-License-Identifier: MIT */
/* beneath.h - models are found by name in a folder, never by path. */
#ifndef RILLD_BENEATH_H
#define RILLD_BENEATH_H

#include <stddef.h>
#include <stdint.h>

/* The folder `name`, or the regular file if the name ends in .rill, directly in dir: a descriptor
 * that stays with what was found whatever comes in its place; -1: errno is ENOENT if there is none,
 * else why it cannot be told. Neither a symbolic link nor anything else is followed. name is valid
 * (model_name_valid). */
int model_beneath(const char *dir, const char *name);

/* Looks the name up in a file of lines "SHA256 NAME"; # begins a comment. 1 and the digest, 0 where
 * the name is not in it; -1 and words where the file cannot be read or a line of it is none, as
 * then nothing can be told. */
int pin_find(const char *path, const char *name, uint8_t ret_sha256[32], char *err, size_t n);

#endif
