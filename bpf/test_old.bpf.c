// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* As watch_old.bpf.c. */
#define WITHOUT_KFUNCS
#include "test.bpf.c"
