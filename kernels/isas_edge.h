/* SPDX-License-Identifier: MIT */
/* isas_edge.h - the instruction sets of 32-bit ARM and RISC-V, as kern.h names those of others. */
#ifndef KERN_ISAS_EDGE_H
#define KERN_ISAS_EDGE_H

#ifdef __arm__
#define KERN_VFPV4 (1u << 7) /* beside KERN_NEON: fused multiply-add, f16 */
#define KERN_ISAS(X) X(neon, KERN_NEON | KERN_VFPV4)
#else
#define KERN_RVV (1u << 8) /* V 1.0 */
#define KERN_ISAS(X) X(rvv, KERN_RVV)
#endif
#endif
