/* SPDX-License-Identifier: MIT */
/* pins.h - the file of the SHA-256 that each model must have. */
#ifndef RILL_DAEMON_MODELS_PINS_H
#define RILL_DAEMON_MODELS_PINS_H

#include <stddef.h>
#include <stdint.h>

#define PINS_MAX_BYTES (256 * 1024)

/* Looks the name up in a file of lines "SHA256 NAME"; empty lines, lines that begin with # and
 * leading blanks are ignored. Returns 1 and the digest, or 0 where the name is not in it; or -1 and
 * a message where the file or any line of it is bad: errno is why it cannot be read, else 0. */
int pin_find(const char *path, const char *name, uint8_t ret_sha256[32], char *err, size_t n);

#endif
