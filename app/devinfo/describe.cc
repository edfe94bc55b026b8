// From a device's attributes to lines.
// SPDX-License-Identifier: BSD-3-Clause
#include "describe.h"

#include <endian.h>

#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <roce/counters.h>

#include "common/run/session.h"

namespace uroce::devinfo {
namespace {

using roce::Gid;
namespace verbs = roce::verbs;

constexpr uint8_t kPort = 1;

std::string guid_text(__be64 guid) {
  const uint64_t value = be64toh(guid);
  return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", value >> 48U & 0xffffU, value >> 32U & 0xffffU,
                     value >> 16U & 0xffffU, value & 0xffffU);
}

std::string mtu_text(ibv_mtu code) {
  return fmt::format("{} ({})", 128U << static_cast<unsigned>(code), static_cast<int>(code));
}

Gid gid_at(const verbs::Device& device, int index) {
  Gid gid;
  if (const auto raw = device.query_gid(kPort, index)) {
    std::memcpy(gid.bytes.data(), raw->raw, sizeof raw->raw);
  }
  return gid;
}

class Lines {
 public:
  void add(int depth, std::string name, std::string value = {}) {
    list_.push_back({depth, std::move(name), std::move(value)});
  }
  void add(int depth, std::string name, int64_t value) {
    add(depth, std::move(name), fmt::format("{}", value));
  }
  std::vector<Line> take() { return std::move(list_); }

 private:
  std::vector<Line> list_;
};

void add_limits(Lines& lines, const ibv_device_attr& attr) {
  lines.add(1, "max_mr_size", fmt::format("{:#x}", attr.max_mr_size));
  lines.add(1, "max_qp", attr.max_qp);
  lines.add(1, "max_qp_wr", attr.max_qp_wr);
  lines.add(1, "device_cap_flags", fmt::format("0x{:08x}", attr.device_cap_flags));
  lines.add(1, "max_sge", attr.max_sge);
  lines.add(1, "max_sge_rd", attr.max_sge_rd);
  lines.add(1, "max_cq", attr.max_cq);
  lines.add(1, "max_cqe", attr.max_cqe);
  lines.add(1, "max_mr", attr.max_mr);
  lines.add(1, "max_pd", attr.max_pd);
  lines.add(1, "max_qp_rd_atom", attr.max_qp_rd_atom);
  lines.add(1, "max_res_rd_atom", attr.max_res_rd_atom);
  lines.add(1, "atomic_cap", fmt::format("ATOMIC_HCA ({})", static_cast<int>(attr.atomic_cap)));
  lines.add(1, "max_mw", attr.max_mw);
  lines.add(1, "max_mcast_grp", attr.max_mcast_grp);
  lines.add(1, "max_mcast_qp_attach", attr.max_mcast_qp_attach);
  lines.add(1, "max_ah", attr.max_ah);
  lines.add(1, "max_srq", attr.max_srq);
  lines.add(1, "max_srq_wr", attr.max_srq_wr);
  lines.add(1, "max_srq_sge", attr.max_srq_sge);
  lines.add(1, "max_pkeys", attr.max_pkeys);
  lines.add(1, "local_ca_ack_delay", attr.local_ca_ack_delay);
}

void add_device(Lines& lines, const verbs::Device& device, bool verbose) {
  const ibv_device_attr attr = device.query_device();
  lines.add(0, "hca_id", std::string(app::kDeviceName));
  lines.add(1, "transport", "InfiniBand (0)");
  lines.add(1, "fw_ver", attr.fw_ver);
  lines.add(1, "node_guid", guid_text(attr.node_guid));
  lines.add(1, "sys_image_guid", guid_text(attr.sys_image_guid));
  lines.add(1, "vendor_id", fmt::format("0x{:04x}", attr.vendor_id));
  lines.add(1, "vendor_part_id", attr.vendor_part_id);
  lines.add(1, "hw_ver", fmt::format("{:#x}", attr.hw_ver));
  lines.add(1, "phys_port_cnt", attr.phys_port_cnt);
  if (verbose) {
    add_limits(lines, attr);
  }
}

void add_port(Lines& lines, const verbs::Device& device, bool verbose) {
  const auto port = device.query_port(kPort);
  if (!port) {
    return;
  }
  lines.add(1, "port", int64_t{kPort});
  const bool up = port->state == IBV_PORT_ACTIVE;
  lines.add(
      2, "state",
      fmt::format("{} ({})", up ? "PORT_ACTIVE" : "PORT_DOWN", static_cast<int>(port->state)));
  lines.add(2, "max_mtu", mtu_text(port->max_mtu));
  lines.add(2, "active_mtu", mtu_text(port->active_mtu));
  lines.add(2, "sm_lid", int64_t{0});
  lines.add(2, "port_lid", int64_t{0});
  lines.add(2, "port_lmc", "0x00");
  lines.add(2, "link_layer", "Ethernet");
  if (verbose) {
    lines.add(2, "max_msg_sz", fmt::format("{:#x}", port->max_msg_sz));
    lines.add(2, "pkey_tbl_len", port->pkey_tbl_len);
    lines.add(2, "gid_tbl_len", port->gid_tbl_len);
  }
  for (int i = 0; i < port->gid_tbl_len; ++i) {
    lines.add(2, fmt::format("GID[{:3}]", i),
              fmt::format("{}, RoCE v2", app::gid_text(gid_at(device, i))));
  }
  lines.add(2, "default_gid", default_gid(device));
}

void add_ground(Lines& lines, const roce::Endpoint& endpoint, const roce::PortInfo& port) {
  const roce::Config& config = endpoint.config();
  lines.add(1, "runs_on");
  lines.add(2, "port_kind",
            fmt::format("{}, from {}", roce::name_of(config.port.kind),
                        roce::origin_of(config, "port.kind")));
  lines.add(2, "dpdk_device", port.name);
  lines.add(2, "mac", roce::text_of(port.mac));
  lines.add(2, "ethernet_mtu", port.mtu);
  lines.add(
      2, "queues",
      fmt::format("1 receive of {} descriptors, 1 transmit of {}, {} buffers each way",
                  config.port.rx_descriptors, config.port.tx_descriptors, config.port.buffers));
  lines.add(2, "gather",
            port.max_segments == 0 ? "no, payload is copied"
                                   : fmt::format("{} segments a frame", port.max_segments));
  lines.add(2, "ipv4_checksum", port.ipv4_checksum ? "by the port" : "by uroce");
  lines.add(2, "memory",
            fmt::format("{} MiB of {} pages", config.eal.memory_mb,
                        config.eal.hugepages ? "huge" : "normal"));
  lines.add(2, "lcore",
            fmt::format("CPU {} of {}, drive {}", config.eal.cpu,
                        std::thread::hardware_concurrency(), roce::name_of(config.engine.drive)));
}

}  // namespace

std::string default_gid(const verbs::Device& device) {
  const int index = device.default_gid_index();
  const Gid gid = gid_at(device, index);
  const std::string_view reason =
      gid.ipv6().is_link_local()
          ? "link-local, since no other address is configured; it reaches this network only"
          : "the first that is not link-local";
  return fmt::format("{} ({}): {}", index, app::gid_text(gid), reason);
}

std::vector<Line> describe(roce::Endpoint& endpoint, bool verbose) {
  Lines lines;
  add_device(lines, endpoint.device(), verbose);
  add_port(lines, endpoint.device(), verbose);
  add_ground(lines, endpoint, endpoint.device().port_info());
  return lines.take();
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    const std::string name = fmt::format("{:\t<{}}{}:", "", line.depth, line.name);
    const size_t tabs = line.depth == 0 || line.value.empty() ? 1 : name.size() < 16 ? 3 : 2;
    text += line.value.empty() ? fmt::format("{}\n", name)
                               : fmt::format("{}{:\t<{}}{}\n", name, "", tabs, line.value);
  }
  return text;
}

}  // namespace uroce::devinfo
