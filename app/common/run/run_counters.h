// The transport's counters as the programs show them beside a result.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <roce/endpoint.h>

#include "common/report.h"

namespace uroce::app {

/// "retransmits" and "drops" always; then, unless zero, what says more: timeouts, NAKs, each reason
/// of drops, frames the port lost, injected faults.
Counters run_counters(roce::Endpoint& endpoint);

}  // namespace uroce::app
