// The register of rule cases: which cases there are, and which rules (docs/rules.md) each checks. A
// case is one GoogleTest case; its suite is named after its rules, so that `--gtest_filter=R1.*`
// and the like choose by rule.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "script/script.h"

namespace roce::script {

struct RuleCase {
  std::vector<std::string> rules;  ///< ids, at least one
  std::string name;
};

/// All cases of this program.
std::vector<RuleCase>& all_cases();

using MakeCase = std::function<std::unique_ptr<Script>(const CaseInfo&)>;

/// Adds a case to the register and to GoogleTest. `rules`: ids separated by blanks.
void register_case(const std::string& rules, const std::string& name, const char* file, int line,
                   MakeCase make);

struct Registered {
  Registered(const char* rules, const char* name, const char* file, int line, MakeCase make) {
    register_case(rules, name, file, line, std::move(make));
  }
};

/// A case whose body is a function object: for cases that a loop generates.
class BodyCase final : public Script {
 public:
  using Body = std::function<void(Script&)>;
  BodyCase(const CaseInfo& info, Body body) : Script(info), body_(std::move(body)) {}
  void run() override { body_(*this); }

 private:
  Body body_;
};

/// Hands generated cases to the register.
class Generator {
 public:
  Generator(const char* file, int line) : file_(file), line_(line) {}

  void add(const std::string& rules, const std::string& name, BodyCase::Body body) const {
    register_case(rules, name, file_, line_, [body = std::move(body)](const CaseInfo& info) {
      return std::make_unique<BodyCase>(info, body);
    });
  }

 private:
  const char* file_;
  int line_;
};

struct Generated {
  Generated(const char* file, int line, void (*generate)(const Generator&)) {
    generate(Generator(file, line));
  }
};

}  // namespace roce::script

/// RULE_CASE("R1 S2", what_happens) { steps }: a case that checks these rules.
#define RULE_CASE(rules, name)                                                                   \
  namespace {                                                                                    \
  class RuleCase_##name final : public ::roce::script::Script {                                  \
   public:                                                                                       \
    using Script::Script;                                                                        \
    void run() override;                                                                         \
  };                                                                                             \
  const ::roce::script::Registered registered_##name(rules, #name, __FILE__, __LINE__,           \
                                                     [](const ::roce::script::CaseInfo& info) {  \
                                                       return std::make_unique<RuleCase_##name>( \
                                                           info);                                \
                                                     });                                         \
  }                                                                                              \
  void RuleCase_##name::run()

/// RULE_CASES(what) { cases.add("R12", "name", [=](Script& s) { steps }); ... }
#define RULE_CASES(name)                                                                        \
  static void generate_##name(const ::roce::script::Generator& cases);                          \
  static const ::roce::script::Generated generated_##name(__FILE__, __LINE__, generate_##name); \
  static void generate_##name(const ::roce::script::Generator& cases)
