// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* For kernels without the function that it calls, to read payload in pages: skb.bpf.h. */
#define WITHOUT_KFUNCS
#include "checkpoint.bpf.c"
