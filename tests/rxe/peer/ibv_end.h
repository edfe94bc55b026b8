// IbvEnd: the other end, over libibverbs: Soft-RoCE in a guest, or any device with a RoCE v2 GID.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "end.h"

namespace uroce::rxe {

class IbvOpener final : public Opener {
 public:
  /// Opens the device of that name; an empty name takes the first. ENODEV when there is none. Its
  /// addresses are those of the network `interface`, such as a VLAN; empty: the first of all.
  static roce::Result<std::unique_ptr<IbvOpener>> create(const std::string& device_name,
                                                         const std::string& interface);

  ~IbvOpener() override;
  IbvOpener(const IbvOpener&) = delete;
  IbvOpener& operator=(const IbvOpener&) = delete;

  roce::Result<std::unique_ptr<End>> open(const QpSetup& setup) override;
  /// Sleeps: the device works by itself, and may need this CPU to do so.
  void progress() override;

 private:
  IbvOpener(ibv_context* context, std::string interface)
      : context_(context), interface_(std::move(interface)) {}

  ibv_context* context_;
  std::string interface_;
};

}  // namespace uroce::rxe
