// UroceEnd: the end that is uroce's, over the native verbs of an Endpoint that this thread drives.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <roce/endpoint.h>

#include "end.h"

namespace uroce::rxe {

class UroceOpener final : public Opener {
 public:
  /// `endpoint` must outlive this, and be driven by the calling thread ("rtc").
  explicit UroceOpener(roce::Endpoint& endpoint) : endpoint_(endpoint) {}

  roce::Result<std::unique_ptr<End>> open(const QpSetup& setup) override;
  void progress() override;

 private:
  roce::Endpoint& endpoint_;
};

}  // namespace uroce::rxe
