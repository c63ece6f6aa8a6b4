/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions of the kernel itself that our programs call. For one that the kernel has not, weak or
 * not, libbpf 1.1 looks into the BTF of every module, which takes CAP_SYS_ADMIN; not to load the
 * programs that call it does not help. So objects that can do without are built a second time, as
 * bpf/NAME_old.bpf.c, without any such symbol.
 */
#ifndef PKTLEDGER_KFUNC_BPF_H
#define PKTLEDGER_KFUNC_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "kernel.h"

#ifdef WITHOUT_KFUNCS
#define KFUNCS false
#else
#define KFUNCS true
#endif

/* Plain loads from any address; Linux 6.2. */
extern void *bpf_rdonly_cast(void *obj, __u32 btf_id) __ksym;

#define CAST(at, type) ((struct type *)bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct type)))

/* Bytes of an skb wherever they are. Linux 6.4; of the skbs of tracing programs 6.12. */
extern int bpf_dynptr_from_skb(struct sk_buff *skb, __u64 flags,
			       struct bpf_dynptr *ptr) __ksym __weak;

#endif
