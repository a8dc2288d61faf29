/* SPDX-License-Identifier: MIT */
/* process.h - what the kernel says of this process; 0 where it does not. */
#ifndef RILL_DAEMON_BASE_PROCESS_H
#define RILL_DAEMON_BASE_PROCESS_H

#include <stdint.h>

uint64_t process_cpu_us(void);
/* in memory, apart from what is mapped of files */
uint64_t process_private_bytes(void);
void process_memory(uint64_t *ret_virtual_bytes, uint64_t *ret_resident_bytes);
uint64_t process_fds(void);
uint64_t process_max_fds(void);
uint64_t process_wall_us(void); /* since the epoch */

#endif
