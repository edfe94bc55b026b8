// What uroce-devinfo tells about a device, in ibv_devinfo's words, and about what it stands on.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <roce/endpoint.h>

namespace uroce::devinfo {

/// A heading, or name and value, with how deep it is indented.
struct Line {
  int depth = 0;
  std::string name;
  std::string value;
};

/// `verbose` adds ibv_devinfo -v's limits. In the order in which it is printed.
std::vector<Line> describe(roce::Endpoint& endpoint, bool verbose);

/// As ibv_devinfo prints it.
std::string text_of(const std::vector<Line>& lines);

/// The GID that is used when nobody chooses one, and the reason, as one sentence.
std::string default_gid(const roce::verbs::Device& device);

}  // namespace uroce::devinfo
