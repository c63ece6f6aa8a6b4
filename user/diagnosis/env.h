/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The circumstances of a measurement: what two results must have in common to be compared. */
#ifndef PKTLEDGER_DIAGNOSIS_ENV_H
#define PKTLEDGER_DIAGNOSIS_ENV_H

#include <json-c/json.h>

#include "host/lab.h"

/*
 * Versions, quirks (drops/reason.h), the BPF maps that are open (host/bpfmaps.h), CPUs, the
 * interfaces of `lab` (NULL: none) and the sysctls that decide where packets are lost. What cannot
 * be read is left out; null is what is read and not set. Needs no privilege without a lab, but some
 * quirks are known only with those of tracing. The caller owns the object (json_object_put()).
 */
struct json_object *env_read(const struct lab *lab);

#endif
