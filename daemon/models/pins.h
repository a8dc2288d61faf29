/* SPDX-License-Identifier: MIT */
/* pins.h - the file that says which bytes a model of a name must have. */
#ifndef RILL_DAEMON_MODELS_PINS_H
#define RILL_DAEMON_MODELS_PINS_H

#include <stddef.h>
#include <stdint.h>

#define PINS_MAX_BYTES (256 * 1024)

/* Looks the name up in a file of lines "SHA256 NAME"; lines that are empty or begin with # say
 * nothing, blanks in front neither. 1 and the digest, 0 where the name is not in it; -1 and words
 * where anything is wrong with the file or a line of it, as then nothing can be told: errno is why
 * it cannot be read, else 0. */
int pin_find(const char *path, const char *name, uint8_t ret_sha256[32], char *err, size_t n);

#endif
