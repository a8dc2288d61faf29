/* SPDX-License-Identifier: MIT */
/* Preloaded into a program, hides from it that the machine has more than AVX2 and FMA (AVX-512,
 * AMX, VNNI of either encoding): cpuid traps, where kernel and processor can (Linux on x86-64, the
 * flag cpuid_fault), and is answered without these bits. Libraries that choose kernels by cpuid
 * when they are first used, as ONNX Runtime and LiteRT's XNNPACK do, then choose AVX2.
 * LD_PRELOAD=./avx2only.so PROGRAM .. */
#include <asm/prctl.h>
#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef ARCH_CPUID_GET
#define ARCH_CPUID_GET 0x1011
#define ARCH_CPUID_SET 0x1012
#endif

#define BIT(n) (1u << (n))

/* Bits that are taken away. */
static const struct mask {
    unsigned leaf, part, eax, ebx, ecx, edx;
} masks[] = {
    /* AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI, VBMI2, GFNI, VNNI, BITALG, VPOPCNTDQ; 4VNNIW,
     * 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX, AMX-INT8 */
    { 7, 0, 0, BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31),
      BIT(1) | BIT(6) | BIT(8) | BIT(11) | BIT(12) | BIT(14),
      BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25) },
    /* AVX-VNNI, BF16, AMX-FP16, AVX-IFMA; AVX-VNNI-INT8, NE-CONVERT, AMX-COMPLEX, INT16, AVX10 */
    { 7, 1, BIT(4) | BIT(5) | BIT(21) | BIT(23), 0, 0,
      BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19) },
};

static long cpuid_allow(int yes)
{
    return syscall(SYS_arch_prctl, ARCH_CPUID_SET, yes);
}

static void answer(int sig, siginfo_t *info, void *context)
{
    greg_t *g = ((ucontext_t *) context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *) g[REG_RIP];
    (void) info;
    if (at[0] != 0x0f || at[1] != 0xa2) { /* a fault, which comes again */
        signal(sig, SIG_DFL);
        return;
    }
    const unsigned leaf = (unsigned) g[REG_RAX], part = (unsigned) g[REG_RCX];
    unsigned a, b, c, d;
    cpuid_allow(1);
    __cpuid_count(leaf, part, a, b, c, d);
    cpuid_allow(0);
    for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++)
        if (masks[i].leaf == leaf && masks[i].part == part)
            a &= ~masks[i].eax, b &= ~masks[i].ebx, c &= ~masks[i].ecx, d &= ~masks[i].edx;
    g[REG_RAX] = a, g[REG_RBX] = b, g[REG_RCX] = c, g[REG_RDX] = d;
    g[REG_RIP] += 2; /* behind it */
}

__attribute__((constructor)) static void hide(void)
{
    struct sigaction on = { .sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER };
    if (sigaction(SIGSEGV, &on, NULL) || cpuid_allow(0)) {
        fputs("avx2only: cpuid does not trap here\n", stderr);
        _exit(3);
    }
}
