// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/rx.h"
#include "traffic/tx.h"

const struct tx_ops *const tx_engines[] = {&tx_socket, &tx_xsk, &tx_xdp, NULL};
const struct rx_ops *const rx_engines[] = {&rx_socket, &rx_xsk, &rx_xdp, NULL};
