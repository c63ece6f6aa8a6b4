/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the environment have in common: env.c the host, env_net.c its network. */
#ifndef PKTLEDGER_DIAGNOSIS_ENV_PARTS_H
#define PKTLEDGER_DIAGNOSIS_ENV_PARTS_H

#include <json-c/json.h>

#include "host/lab.h"

/* Adds "interfaces" (only with a lab) and "sysctls". */
void env_read_network(struct json_object *env, const struct lab *lab);

#endif
