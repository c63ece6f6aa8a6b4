/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A directory for the one file that a test writes. */
#ifndef PKTLEDGER_SCRATCH_H
#define PKTLEDGER_SCRATCH_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/pktledger-test-XXXXXX";
static char path[sizeof(dir) + 8];

static inline int make_dir(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	return 0;
}

static inline int remove_file(void **state)
{
	unlink(path);
	return 0;
}

static inline int remove_dir(void **state)
{
	unlink(path);
	return rmdir(dir); /* fails if anything else is there */
}

#endif
