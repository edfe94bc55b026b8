// The counters that Device and Qp hand out, for programs: what happened to packets, and why packets
// were dropped (name_of(DropReason) has the words). SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/add_counts.h"
#include "base/drop_reason.h"
#include "engine/counters.h"
#include "port/port.h"
#include "qp/core.h"
