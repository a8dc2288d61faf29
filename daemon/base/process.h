/* SPDX-License-Identifier: MIT */
/* process.h - figures of this process from /proc and the kernel; 0 where there are none. */
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
