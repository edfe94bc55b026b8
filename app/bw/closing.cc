// Closing lines as JSON.
// SPDX-License-Identifier: BSD-3-Clause
#include "closing.h"

#include <cerrno>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "common/sockets.h"

namespace uroce::bw {
namespace {

using Json = nlohmann::ordered_json;

template <class T, class Read>
roce::Result<T> parse(std::string_view line, const Read& read) {
  try {
    return read(Json::parse(line));
  } catch (const Json::exception&) {
    return roce::failure(EPROTO, fmt::format("the other end closed the run with \"{}\"; use "
                                             "programs of one version at both ends",
                                             app::printable(line)));
  }
}

}  // namespace

std::string line_of(const Closing& closing) {
  return Json{{"messages", closing.messages},
              {"seconds", closing.seconds},
              {"interrupted", closing.interrupted}}
      .dump();
}

std::string line_of(const Answer& answer) {
  return Json{{"checked", answer.checked},
              {"wrong", answer.wrong},
              {"lost", answer.lost},
              {"first", answer.first}}
      .dump();
}

roce::Result<Closing> parse_closing(std::string_view line) {
  return parse<Closing>(line, [](const Json& json) {
    return Closing{.messages = json.at("messages").get<uint64_t>(),
                   .seconds = json.at("seconds").get<double>(),
                   .interrupted = json.at("interrupted").get<bool>()};
  });
}

roce::Result<Answer> parse_answer(std::string_view line) {
  return parse<Answer>(line, [](const Json& json) {
    return Answer{.checked = json.at("checked").get<uint64_t>(),
                  .wrong = json.at("wrong").get<uint64_t>(),
                  .lost = json.at("lost").get<uint64_t>(),
                  .first = json.at("first").get<std::string>()};
  });
}

}  // namespace uroce::bw
