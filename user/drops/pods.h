/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of pods and their containers, from the names of the logs that the kubelet keeps. */
#ifndef PKTLEDGER_DROPS_PODS_H
#define PKTLEDGER_DROPS_PODS_H

#include "drops/container.h"

/*
 * Fills what `c` has not: pod, k8s_ns (/var/log/pods/NAMESPACE_POD_UID) and name
 * (/var/log/containers/POD_NAMESPACE_NAME-ID.log), by uid and id. What is not there stays empty.
 * Reads the two directories anew each time. `root`: proc_root().
 */
void pods_name(int root, struct container *c);

#endif
