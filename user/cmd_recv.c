// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "commands.h"
const struct command cmd_recv = {.name = "recv", .summary = "x"};
