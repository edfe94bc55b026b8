// ResponderPart: the end of a cell whose memory and receives the operations work on.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "part.h"

namespace uroce::rxe {

class ResponderPart : public Part {
 public:
  using Part::Part;

  roce::Status run();

 private:
  roce::Status post(size_t message, size_t place, uint32_t size);
  /// Makes ready for a message: its receive, its bytes, or where it is to arrive.
  roce::Status prepare(size_t message, size_t place, uint32_t size);
  /// Takes the completion of a message, if it makes one.
  roce::Status receive(size_t message, uint32_t size);
  /// Checks what a message has done to the memory.
  roce::Status check_effect(size_t message, size_t place, uint32_t size);
  roce::Status check_word(size_t operations);

  roce::Status one_by_one();
  roce::Status at_once();
  roce::Status late_receive();
  roce::Status to_fail();
  roce::Status prepare_to_fail();
  roce::Status check_failed_receives();
  roce::Status give_window();
  roce::Status bind_window();
  roce::Status revoke_window();
  roce::Status check_wrong_qkey();

  uint32_t window_key_ = 0;
};

}  // namespace uroce::rxe
