// What one value's own range cannot say: defaults that depend on other settings, and settings that
// must agree. Owned by load_config().
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "roce/config.h"

namespace roce {

/// The longest path a UNIX socket may have, bytes.
inline constexpr size_t kMaxSocketPath = 107;

/// CPUs this process may run on, ascending; never empty.
std::vector<uint32_t> allowed_cpus();

/// The CPUs of the engines with drive "lcore": from eal.cpu on, in the order of `cpus`, around.
std::vector<uint32_t> lcore_cpus(const Config& config, std::span<const uint32_t> cpus);

/// "$XDG_RUNTIME_DIR/uroce/wire.sock", or "/tmp/uroce-UID/wire.sock" without that variable.
std::string default_socket_path();

/// Fills in every derived default whose origin is "default". Requires port.side to be set.
void derive_defaults(Config& config, std::span<const uint32_t> cpus);

/// Refuses settings that contradict each other (EINVAL); names the place of the one to change.
Status check_config(const Config& config, std::span<const uint32_t> cpus);

/// "config/x.toml:12: port.mtu", "port.mtu" for a default: how an error names a setting.
std::string place_of(const Config& config, std::string_view path);

/// How an error names an origin: "file x:1" is "x:1", anything else stays.
std::string place_of_origin(std::string_view origin);

}  // namespace roce
