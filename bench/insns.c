/* SPDX-License-Identifier: MIT */
/* A plugin of qemu (qemu-user of Debian runs them and has no header): prints how many instructions
 * the emulated program ran.  qemu-aarch64 -plugin ./insns.so PROGRAM .. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What is used of qemu's interface for plugins, version 1. */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { INLINE_ADD_U64 = 0 };
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
                                           void (*cb)(plugin_id id, struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *at,
                                              uint64_t add);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*cb)(plugin_id id, void *data), void *data);

__attribute__((visibility("default"))) extern int qemu_plugin_version;
int qemu_plugin_version = 1;

static uint64_t insns;

/* A block runs from its first instruction to its last. */
static void block_made(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void) id;
    qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &insns,
                                             qemu_plugin_tb_n_insns(tb));
}

static void done(plugin_id id, void *data)
{
    (void) id, (void) data;
    fprintf(stderr, "insns %" PRIu64 "\n", insns);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info,
                                                               int argc, char **argv);
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void) info, (void) argc, (void) argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, block_made);
    qemu_plugin_register_atexit_cb(id, done, NULL);
    return 0;
}
