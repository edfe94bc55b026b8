"""Tests of the checkers themselves: each rule must find what it is there for, in a small tree made
for the purpose, and must be silent about a tree that keeps the rules.

SPDX-License-Identifier: BSD-3-Clause
"""

import tempfile
import unittest
from pathlib import Path

import check_docs
import check_tree
import source_tree

HEAD = "// A file for the test.\n// SPDX-License-Identifier: BSD-3-Clause\n"
HEADER = HEAD + "#pragma once\n"


class TreeCase(unittest.TestCase):
    """A tree in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def findings(self, compiler=None, cache=None):
        return [f"{path}:{line}: {what}"
                for path, line, what in check_tree.check_tree(self.root, compiler, cache)]

    def assert_found(self, *parts):
        found = self.findings()
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])


class IncludeDirections(TreeCase):
    def setUp(self):
        super().setUp()
        for header in ("base/psn.h", "ring/spsc_ring.h", "wire/icrc.h", "qp/qp.h", "engine/engine.h",
                       "port/port.h", "port/loopback_port.h", "port/dpdk/dpdk_port.h"):
            self.write(f"lib/transport/{header}", HEADER)
        self.write("lib/verbs/include/roce/verbs.h", HEADER)
        self.write("lib/verbs/device.h", HEADER)
        self.write("app/common/args.h", HEADER)
        self.write("app/bw/sender.h", HEADER)

    def include(self, path, *names):
        self.write(path, HEAD + "".join(f"#include {name}\n" for name in names))

    def test_downward_includes_are_allowed(self):
        self.include("lib/transport/qp/qp.cc", '"qp/qp.h"', '"wire/icrc.h"', '"base/psn.h"',
                     "<cstdint>", "<tl/expected.hpp>")
        self.include("lib/transport/engine/engine.cc", '"qp/qp.h"', '"port/port.h"')
        self.include("lib/transport/port/dpdk/dpdk_port.cc", "<rte_mbuf.h>", '"port/port.h"')
        self.include("lib/endpoint/open.cc", '"port/dpdk/dpdk_port.h"', "<roce/verbs.h>")
        self.include("app/pingpong/main.cc", "<roce/verbs.h>", '"common/args.h"')
        self.include("tests/qp/qp_test.cc", '"qp/qp.h"', '"port/loopback_port.h"', "<thread>")
        self.assertEqual(self.findings(), [])

    def test_upward_include_is_found_with_its_line(self):
        self.include("lib/transport/wire/packet.cc", '"base/psn.h"', '"qp/qp.h"')
        self.assert_found("lib/transport/wire/packet.cc:4:", "wire may not include qp/qp.h")

    def test_angle_brackets_hide_nothing(self):
        self.include("lib/transport/base/psn.cc", "<wire/icrc.h>")
        self.assert_found("base may not include wire/icrc.h")

    def test_relative_path_hides_nothing(self):
        self.include("lib/transport/memory/sge.cc", '"../wire/icrc.h"')
        self.assert_found('"../wire/icrc.h" is none of our files')

    def test_engine_sees_port_h_but_no_port(self):
        self.include("lib/transport/engine/engine.cc", '"port/loopback_port.h"')
        self.assert_found("engine may not include port/loopback_port.h")

    def test_qp_sees_no_port(self):
        self.include("lib/transport/qp/step.cc", '"port/port.h"')
        self.assert_found("qp may not include port/port.h")

    def test_port_sees_no_engine(self):
        self.include("lib/transport/port/loopback_port.cc", '"engine/engine.h"')
        self.assert_found("port may not include engine/engine.h")

    def test_dpdk_headers_are_for_the_dpdk_port_only(self):
        self.include("lib/transport/engine/engine.cc", "<rte_mbuf.h>")
        self.assert_found("engine may not include rte_mbuf.h")

    def test_endpoint_sees_no_dpdk_headers(self):
        self.include("lib/endpoint/open.cc", "<rte_eal.h>")
        self.assert_found("endpoint may not include rte_eal.h")

    def test_tests_see_dpdk_headers_only_in_their_folder(self):
        self.include("tests/dpdk/eal_test.cc", "<rte_eal.h>")
        self.include("tests/qp/qp_test.cc", "<rte_eal.h>")
        self.assert_found("tests/qp/qp_test.cc:3:", "<rte_eal.h> is for")

    def test_app_sees_only_public_headers(self):
        self.include("app/pingpong/main.cc", '"engine/engine.h"')
        self.assert_found("app may not include engine/engine.h")

    def test_app_sees_no_private_header_of_verbs(self):
        self.include("app/pingpong/main.cc", '"verbs/device.h"')
        self.assert_found("app may not include verbs/device.h")

    def test_app_sees_no_other_app(self):
        self.include("app/pingpong/main.cc", '"bw/sender.h"')
        self.assert_found("app may not include bw/sender.h")

    def test_public_header_sees_no_private_one(self):
        self.write("lib/verbs/include/roce/qp.h", HEADER + '#include "device.h"\n')
        self.assert_found("<roce/*> of verbs may not include device.h")

    def test_core_takes_time_as_an_argument(self):
        self.include("lib/transport/qp/requester.cc", "<chrono>")
        self.assert_found("no <chrono>")

    def test_unknown_folder_is_refused(self):
        self.include("lib/transport/misc/x.cc", '"base/psn.h"')
        self.assert_found("folder 'misc' is not in the layer table")


class Files(TreeCase):
    def test_good_file_has_no_findings(self):
        self.write("lib/transport/base/ok.h", HEADER + "namespace roce {}\n")
        self.assertEqual(self.findings(), [])

    def test_missing_licence_line(self):
        self.write("lib/transport/base/x.cc", "// A file.\nint x;\n")
        self.assert_found("no line 'SPDX")

    def test_missing_opening_paragraph(self):
        self.write("lib/transport/base/x.cc", "// SPDX-License-Identifier: BSD-3-Clause\n")
        self.assert_found("does not open with a paragraph")

    def test_missing_pragma_once(self):
        self.write("lib/transport/base/x.h", HEAD)
        self.assert_found("without #pragma once")

    def test_too_many_lines(self):
        self.write("lib/transport/base/x.cc", HEAD + "\n" * 399)
        self.assert_found("401 lines; the limit is 400")

    def test_script_without_licence_line(self):
        self.write("scripts/x", "#!/bin/bash\n")
        self.assert_found("scripts/x:1:", "no line 'SPDX")

    def test_banned_words(self):
        for text in ("// TO" "DO later", "// FIX" "ME", "using namespace s" "td;",
                     "#define pri" "vate public", "friend cl" "ass Peer;", "// ../sha" "red/x"):
            self.write("lib/transport/base/x.cc", HEAD + text + "\n")
            self.assert_found("lib/transport/base/x.cc:3:", "has no place here")

    def test_mktemp_template_is_no_banned_word(self):
        self.write("scripts/x.sh", "# SPDX-License-Identifier: BSD-3-Clause\nmktemp -d x.XXXXXX\n")
        self.assertEqual(self.findings(), [])

    def test_white_space(self):
        self.write("docs/a.md", "trailing \n")
        self.assert_found("docs/a.md:1:", "white space")
        self.write("docs/a.md", "a\tb\n")
        self.assert_found("tab")
        self.write("docs/a.md", "text")
        self.assert_found("no newline at the end")

    def test_dpdk_name_in_code_but_not_in_comment(self):
        self.write("lib/transport/port/x.cc", HEAD + "/* rte_mbuf\n */ // rte_ring\nrte_mbuf* m;\n")
        self.assert_found("lib/transport/port/x.cc:5:", "rte_mbuf outside")

    def test_build_folders_are_not_looked_at(self):
        self.write("build-asan/x.cc", "bad")
        self.assertEqual(self.findings(), [])


class HeadersAlone(TreeCase):
    def test_header_that_needs_another_is_found_and_a_cure_is_noticed(self):
        path, cache = "lib/transport/base/x.h", self.root / "build/cache"
        self.write(path, HEADER + "inline uint32_t x = 1;\n")
        for _ in range(2):  # a failure is not remembered
            found = self.findings(["g++"], cache)
            self.assertEqual(len(found), 1, found)
            self.assertIn("does not compile alone", found[0])
        self.write(path, HEADER + "#include <cstdint>\ninline uint32_t x = 1;\n")
        self.assertEqual(self.findings(["g++"], cache), [])

    def test_change_of_an_included_header_forgets_the_result(self):
        self.write("lib/transport/base/a.h", HEADER)
        self.write("lib/transport/base/b.h", HEADER + '#include "base/a.h"\n')
        b = Path("lib/transport/base/b.h")
        before = source_tree.GoodCache.key(self.root, b)
        self.write("lib/transport/base/a.h", HEADER + "inline int a = 1;\n")
        self.assertNotEqual(before, source_tree.GoodCache.key(self.root, b))

    def test_core_compiles_without_dpdk_in_sight(self):
        self.assertNotIn("dpdk", " ".join(check_tree.header_flags(
            Path("lib/transport/engine/engine.h"), ["-isystem/usr/include/dpdk"])))


class Docs(TreeCase):
    def found(self, programs=("uroce-pingpong",)):
        return [what for _, _, what in check_docs.check_docs(self.root, programs)]

    def test_good_document(self):
        self.write("scripts/test", "#!/bin/bash\n")
        self.write("docs/a.md", "# One thing\n")
        self.write("README.md", "[a](docs/a.md#one-thing) `scripts/test unit` build/bin/uroce-pingpong\n"
                   "[web](https://example.org/x)\n")
        self.assertEqual(self.found(), [])

    def test_dead_link_anchor_path_and_program(self):
        self.write("docs/a.md", "# One\n")
        self.write("README.md", "[a](docs/b.md) [b](docs/a.md#two)\n`scripts/gone`\n"
                   "build/bin/uroce-gone\n")
        found = self.found()
        self.assertEqual(len(found), 4, found)
        for part in ("docs/b.md", "#two", "scripts/gone", "uroce-gone"):
            self.assertTrue(any(part in what for what in found), part)


if __name__ == "__main__":
    unittest.main()
