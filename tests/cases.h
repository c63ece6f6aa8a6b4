/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cmocka with what it wants included before it. Each case is given a state, which few of them use. */
#ifndef PKTLEDGER_TESTS_CASES_H
#define PKTLEDGER_TESTS_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
