// The tables.
// SPDX-License-Identifier: BSD-3-Clause
#include "common/perftest_flags.h"

#include <array>

namespace uroce::app {
namespace {

constexpr std::string_view kNoCm = "there is no RDMA CM; parameters go over TCP (-p)";
constexpr std::string_view kNoRaw = "raw Ethernet queue pairs are not in uroce";
constexpr std::string_view kNoGpu = "memory of accelerators cannot be registered";
constexpr std::string_view kOnePort = "a device has one port; start one program for each";
constexpr std::string_view kNoDc = "DC and SRD are one vendor's transports; use RC, UC or UD";
constexpr std::string_view kNoCrypto = "it is a function of one vendor's NICs";
constexpr std::string_view kLatency = "uroce-bw measures rates; uroce-pingpong measures latency";

constexpr std::array kIdlePerftest = {
    KnownFlag{"-F,--CPU-freq", false, "times do not come from a clock whose rate varies"},
    KnownFlag{"--use_old_post_send", false, "there is one way to post"},
    KnownFlag{"--no_lock", false, "queues have no lock in any case"},
    KnownFlag{"--mr_per_qp", false, "one region costs what many cost"},
    KnownFlag{"--recv_post_list", true, "receives are posted again a batch at a time"},
    KnownFlag{"--cqe_poll", true, "completions are polled 16 at a time"},
    KnownFlag{"--disable_dynamic_polling", false, "polling does not depend on the load"},
    KnownFlag{"--force-link", true, "the link is Ethernet in any case"},
    KnownFlag{"--odp", false, "memory is never pinned, so it is always on demand"},
    KnownFlag{"--disable_pcie_relaxed", false, "writes by the CPU are in order"},
    KnownFlag{"--report-per-port", false, "there is one port"},
    KnownFlag{"--no_enhanced_reorder", false, "packets are put in order in any case"},
};

constexpr std::array kIdleIbverbs = {
    KnownFlag{"-o,--odp", false, "memory is never pinned, so it is always on demand"},
    KnownFlag{"-O,--iodp", false, "memory is never pinned, so it is always on demand"},
    KnownFlag{"-P,--prefetch", false, "there is nothing to fetch ahead"},
    KnownFlag{"-N,--new_send", false, "there is one way to post"},
    KnownFlag{"-U,--cc-unprotected", false, "there is no confidential computing"},
};

constexpr std::array kRefusedPerftest = {
    KnownFlag{"-R,--rdma_cm", false, kNoCm},
    KnownFlag{"-z,--comm_rdma_cm", false, kNoCm},
    KnownFlag{"-O,--dualport", false, kOnePort},
    KnownFlag{"-B,--source_mac", true, kNoRaw},
    KnownFlag{"-E,--dest_mac", true, kNoRaw},
    KnownFlag{"-G,--use_rss", false, kNoRaw},
    KnownFlag{"-J,--dest_ip", true, kNoRaw},
    KnownFlag{"-j,--source_ip", true, kNoRaw},
    KnownFlag{"-K,--source_port", true, kNoRaw},
    KnownFlag{"-k,--dest_port", true, kNoRaw},
    KnownFlag{"-Y,--ethertype", true, kNoRaw},
    KnownFlag{"-Z,--server", false, kNoRaw},
    KnownFlag{"-P,--client", false, kNoRaw},
    KnownFlag{"-v,--mac_fwd", false, kNoRaw},
    KnownFlag{"--tcp", false, kNoRaw},
    KnownFlag{"--promiscuous", false, kNoRaw},
    KnownFlag{"--sniffer", false, kNoRaw},
    KnownFlag{"--flows", true, kNoRaw},
    KnownFlag{"--flows_burst", true, kNoRaw},
    KnownFlag{"--raw_mcast", false, kNoRaw},
    KnownFlag{"--use_cuda", true, kNoGpu},
    KnownFlag{"--use_cuda_dmabuf", false, kNoGpu},
    KnownFlag{"--use_rocm", true, kNoGpu},
    KnownFlag{"--use_neuron", true, kNoGpu},
    KnownFlag{"--use_hl", true, kNoGpu},
    KnownFlag{"--use_mlu", true, kNoGpu},
    KnownFlag{"--use_dc", false, kNoDc},
    KnownFlag{"--log_dci_streams", true, kNoDc},
    KnownFlag{"--log_active_dci_streams", true, kNoDc},
    KnownFlag{"--connectionless", false, kNoDc},
    KnownFlag{"--aes_xts", false, kNoCrypto},
    KnownFlag{"--dek", true, kNoCrypto},
    KnownFlag{"--sig_before", false, kNoCrypto},
    KnownFlag{"-C,--report-cycles", false, kLatency},
    KnownFlag{"-H,--report-histogram", false, kLatency},
    KnownFlag{"-U,--report-unsorted", false, kLatency},
    KnownFlag{"--latency_gap", true, kLatency},
    KnownFlag{"-g,--mcg", true, "multicast is in examples/multicast.cc"},
    KnownFlag{"-M,--MGID", true, "multicast is in examples/multicast.cc"},
    KnownFlag{"--use_hugepages", false,
              "message buffers are normal pages; eal.hugepages is for the port's"},
    KnownFlag{"--payload_file_path", true, "payloads are patterns that can be checked"},
    KnownFlag{"--unsolicited_write", false, "it is a function of one vendor's NICs"},
    KnownFlag{"--use-null-mr", false, "there is no region without memory"},
    KnownFlag{"--reversed", false, "start the server at the other end"},
    KnownFlag{"--bind_source_ip", true, "the side channel listens at all addresses"},
    KnownFlag{"--numa_node", true, "use numactl"},
    KnownFlag{"-W,--report-counters", true, "uroce's own counters are always reported"},
    KnownFlag{"--vlan_en", false, "use --vlan with the identifier"},
    KnownFlag{"--vlan_pcp", true, "use --sl"},
    KnownFlag{"-X,--xrc", false, "XRC is not in uroce"},
};

constexpr std::array kRefusedIbverbs = {
    KnownFlag{"-j,--dm", false, "there is no memory on the device"},
    KnownFlag{"-t,--ts", false, "times are always taken, at both ends"},
};

}  // namespace

std::span<const KnownFlag> idle_perftest_flags() {
  return kIdlePerftest;
}
std::span<const KnownFlag> idle_ibverbs_flags() {
  return kIdleIbverbs;
}
std::span<const KnownFlag> refused_perftest_flags() {
  return kRefusedPerftest;
}
std::span<const KnownFlag> refused_ibverbs_flags() {
  return kRefusedIbverbs;
}

}  // namespace uroce::app
