// What `uroce --help` and `uroce run --help` print.
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace uroce::launcher {

inline constexpr std::string_view kHelp = R"(NAME
  uroce - run unmodified verbs programs over uroce, without an RDMA kernel

SYNOPSIS
  uroce run [OPTION...] [--] PROGRAM [ARGUMENT...]

DESCRIPTION
  Starts PROGRAM with liburoce-ibverbs.so in front of libibverbs. The program
  finds one more RDMA device, uroce0, with port 1; index 1 of its GIDs is the
  IPv4 address. The device starts when the program opens it and ends with the
  program. Devices of the machine stay visible.

  Two programs on one machine find each other without further settings: the
  first that opens the device becomes node a (192.0.2.1), the next one node b
  (192.0.2.2). Programs that talk over other ports than that wire, such as
  af_packet, are told by --config.

OPTIONS
  --config FILE    settings in TOML, see the folder config/ of the sources
  --node a|b       which end of the wire to be: a listens, b connects; without
                   it, a if nobody is, else b
  --gid-ip IP      own IPv4 or IPv6 address, with /LENGTH or, without, with /24
                   or /64
  --fault FAULTS   faults put into what arrives, such as
                   loss=1%,reorder=1%,dup=1%,corrupt=1%,seed=7
  --capture FILE   write what passes to this pcap file
  --set KEY=VALUE  one setting of the library, such as port.mtu=1500; repeatable
  -h, --help       this text
  --version        the version

EXIT STATUS
  That of PROGRAM; 2: wrong arguments or settings, 126: PROGRAM or the library
  cannot be run, 127: there is no PROGRAM.

ENVIRONMENT
  UROCE_CONFIG     a settings file, as --config
  UROCE_SECTION_KEY
                   one setting, UROCE_PORT_MTU for port.mtu; options win
  LD_PRELOAD       what is there stays, after uroce's own library

EXAMPLES
  uroce run ibv_devinfo -v
  uroce run ibv_rc_pingpong -g 1            in one terminal, and in another:
  uroce run ibv_rc_pingpong -g 1 localhost
  uroce run --fault loss=1% ib_send_bw -x 1 localhost
  uroce run --config config/af_packet.toml --node b ib_write_lat -x 1 HOST

NOTES
  Programs that are linked statically, or that run with more rights than their
  caller (set-user-ID, file capabilities), take no preloaded library.
)";

}  // namespace uroce::launcher
