/* SPDX-License-Identifier: MIT */
/* For LD_PRELOAD: cpuid names nothing beyond AVX2 in this process. ONNX Runtime has no switch for
 * it. Wants a processor and a kernel where cpuid can fault (cpuid_fault in /proc/cpuinfo); else it
 * says so and ends the process. */
#include <asm/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Bits of leaf 7 that are of AVX-512, AMX and AVX-VNNI. */
#define LEAF_7_EBX 0xdc230000u /* F, DQ, IFMA, PF, ER, CD, BW, VL */
#define LEAF_7_ECX 0x00005842u /* VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ */
#define LEAF_7_EDX 0x03c0010cu
#define LEAF_7_1_EAX 0x00200030u /* AVX-VNNI, BF16, AMX-FP16 */

static int cpuid_faults(int on)
{
    return (int) syscall(SYS_arch_prctl, ARCH_SET_CPUID, !on);
}

static void answer(int signal_, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *) context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *) r[REG_RIP];
    unsigned a = (unsigned) r[REG_RAX], b, c = (unsigned) r[REG_RCX], d;
    const unsigned leaf = a, sub = c;
    (void) info;
    if (at[0] != 0x0f || at[1] != 0xa2) {
        signal(signal_, SIG_DFL);
        return;
    }
    cpuid_faults(0);
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    cpuid_faults(1);
    if (leaf == 7 && sub == 0) {
        b &= ~LEAF_7_EBX;
        c &= ~LEAF_7_ECX;
        d &= ~LEAF_7_EDX;
    }
    if (leaf == 7 && sub == 1)
        a &= ~LEAF_7_1_EAX;
    r[REG_RAX] = a;
    r[REG_RBX] = b;
    r[REG_RCX] = c;
    r[REG_RDX] = d;
    r[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void)
{
    struct sigaction act = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER };
    if (sigaction(SIGSEGV, &act, NULL) || cpuid_faults(1)) {
        fputs("bench/avx2.c: cpuid cannot be made to fault here\n", stderr);
        _exit(3);
    }
}
