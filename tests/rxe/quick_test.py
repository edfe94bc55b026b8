"""A choice of the tests with Soft-RoCE that takes less than a minute: one cell of each kind, and one
stock pingpong each way.

SPDX-License-Identifier: BSD-3-Clause
"""

import world
from cells import CellTest
from stock_test import StockTest
from world import harness

CHOSEN = "|".join((
    "^rc (send_imm|write|read|cmp_swap) sizes 1024 ipv4", "^uc write_imm sizes 4096 ipv6",
    "^ud send_imm sizes 256 ipv6", "^rc fetch_add burst", "^rc send wrap", "^rc write_imm srq",
    "^rc write window", "^ud send multicast 1024 ipv4", "^rc send rnr", "^rc read bad_key",
    "^rc write bad_range", "^rc read mr_right", "^rc fetch_add qp_right", "^rc send too_long",
    "^rc read gone", "^ud send bad_qkey"))

setUpModule = world.prepare


class Quick(CellTest, StockTest):
    def test_one_cell_of_each_kind(self):
        self.run_captured(only=CHOSEN)

    def test_a_stock_pingpong(self):
        self.pingpong_against_itself("ibv_rc_pingpong", "-g 1 -m 1024 -s 3001")
        self.check_captures()


if __name__ == "__main__":
    harness.main()
