// RequesterPart: the end of a cell that posts the operations, and checks what comes back of them.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "part.h"

namespace uroce::rxe {

class RequesterPart : public Part {
 public:
  using Part::Part;

  roce::Status run();

 private:
  struct Request {
    size_t message = 0;
    uint32_t size = 0;
    size_t place = 0;  ///< offset in both areas
    AtomicStep atomic{};
  };

  std::vector<Request> requests(const std::vector<uint32_t>& sizes, bool apart) const;
  size_t local_place(const Request& request) const;
  void prepare(const Request& request);
  void write_wr(const Request& request, ibv_send_wr& wr, ibv_sge& sge);
  roce::Status post(const std::vector<Request>& requests);
  roce::Status finish(const Request& request);
  roce::Status fail_two(const std::vector<Request>& requests);
  roce::Status check_result(const Request& request);

  roce::Status one_by_one();
  roce::Status at_once();
  roce::Status to_late_receive();
  roce::Status to_fail();
  roce::Status by_window();
  roce::Status with_wrong_qkey();

  uint32_t window_key_ = 0;
  bool revoking_ = false;  ///< the SEND that invalidates the window
  uint32_t wrong_qkey_bits_ = 0;
};

}  // namespace uroce::rxe
