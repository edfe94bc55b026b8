// A path between two documentation addresses, for tests and benches of what is built upon one.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "qp/path.h"

namespace roce::test {

inline PathSpec sample_path() {
  PathSpec spec;
  spec.source_mac = {{2, 0, 0, 0, 0, 1}};
  spec.destination_mac = {{2, 0, 0, 0, 0, 2}};
  spec.source = Gid::from(Ipv4Address{{192, 0, 2, 1}});
  spec.destination = Gid::from(Ipv4Address{{192, 0, 2, 2}});
  spec.local_qpn = 0x11;
  spec.remote_qpn = 0x12;
  return spec;
}

}  // namespace roce::test
