// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* For kernels without the functions that it calls, to load from any address: skb.bpf.h. */
#define WITHOUT_KFUNCS
#include "balance.bpf.c"
