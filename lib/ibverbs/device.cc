// Devices, contexts and queries.
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "objects.h"

namespace roce::ibv {
namespace {

constexpr uint64_t kClockKhz = 1'000'000;  // completion timestamps are nanoseconds

bool is_ours(const ibv_device* device) {
  return device == Process::get().device();
}

/// An embedded wire is there whether or not somebody listens at its other end.
void show_wire_as_active(ibv_port_attr& attr) {
  const PortKind kind = Process::get().endpoint().config().port.kind;
  if (kind == PortKind::virtio_user || kind == PortKind::memif) {
    attr.state = IBV_PORT_ACTIVE;
  }
}

constexpr uint8_t kWidth4x = 2;
constexpr uint8_t kSpeedEdr = 32;  // 25 Gbit/s a lane, of which there are four
constexpr uint8_t kLinkUp = 5;
constexpr uint8_t kLinkPolling = 2;

int fill_port(uint8_t port_num, ibv_port_attr& attr) {
  const auto queried = Process::get().verbs().query_port(port_num);
  if (!queried) {
    return queried.error().code;
  }
  attr = *queried;
  show_wire_as_active(attr);
  attr.active_width = kWidth4x;
  attr.active_speed = kSpeedEdr;
  attr.phys_state = attr.state == IBV_PORT_ACTIVE ? kLinkUp : kLinkPolling;
  attr.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
  attr.max_vl_num = 1;
  attr.lid = own_lid();
  return 0;
}

int query_port(ibv_context* /*context*/, uint8_t port_num, ibv_port_attr* attr, size_t size) {
  ibv_port_attr full{};
  if (const int rc = fill_port(port_num, full); rc != 0) {
    return rc;
  }
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
  return 0;
}

int query_device_ex(ibv_context* /*context*/, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, size_t size) {
  if (input != nullptr && input->comp_mask != 0) {
    return EINVAL;
  }
  ibv_device_attr_ex full{};
  full.orig_attr = Process::get().verbs().query_device();
  full.completion_timestamp_mask = UINT64_MAX;
  full.hca_core_clock = kClockKhz;
  full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
  full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
  std::memset(attr, 0, size);
  std::memcpy(attr, &full, std::min(size, sizeof full));
  return 0;
}

int query_rt_values(ibv_context* /*context*/, ibv_values_ex* values) {
  if ((values->comp_mask & ~uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) {
    return EINVAL;
  }
  const uint64_t ns = Process::get().endpoint().now().ns;
  values->raw_clock = {static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  return 0;
}

}  // namespace

void fill_operations(Context& context) {
  verbs_context& v = context.verbs;
  fill_unsupported(v);
  v.sz = sizeof v;
  v.query_port = query_port;
  v.query_device_ex = query_device_ex;
  v.query_rt_values = query_rt_values;
  v.create_cq_ex = create_cq_ex;
  v.create_srq_ex = create_srq_ex;
  v.create_qp_ex = create_qp_ex;
  ibv_context_ops& ops = v.context.ops;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
  ops.alloc_mw = alloc_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.bind_mw = bind_mw;
}

}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC ibv_device** ibv_get_device_list(int* num_devices) {
  int others = 0;
  ibv_device** const real_list = pass_on(&ibv_get_device_list, "ibv_get_device_list", &others);
  // Room for ours and the null pointer at the end.
  // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers it is
  void* const room = std::calloc(static_cast<size_t>(others) + 2, sizeof(ibv_device*));
  auto** const list = static_cast<ibv_device**>(room);
  if (list == nullptr) {
    return nullptr;
  }
  list[0] = Process::get().device();
  for (int i = 0; real_list != nullptr && i < others; ++i) {
    list[i + 1] = real_list[i];
  }
  if (real_list != nullptr) {
    // The array only: the devices in it stay alive as long as somebody may open them.
    std::free(real_list);
  }
  if (num_devices != nullptr) {
    *num_devices = others + 1;
  }
  errno = 0;
  return list;
}

UROCE_PUBLIC void ibv_free_device_list(ibv_device** list) {
  std::free(list);
}

UROCE_PUBLIC const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

UROCE_PUBLIC __be64 ibv_get_device_guid(ibv_device* device) {
  return is_ours(device) ? Process::get().guid()
                         : pass_on(&ibv_get_device_guid, "ibv_get_device_guid", device);
}

UROCE_PUBLIC int ibv_get_device_index(ibv_device* device) {
  return is_ours(device) ? 0 : pass_on(&ibv_get_device_index, "ibv_get_device_index", device);
}

UROCE_PUBLIC ibv_context* ibv_open_device(ibv_device* device) {
  if (!is_ours(device)) {
    return pass_on(&ibv_open_device, "ibv_open_device", device);
  }
  if (const roce::Status s = Process::get().open(); !s) {
    return fail_with(s.error().code);
  }
  auto* const context = new Context;
  ibv_context& plain = context->verbs.context;
  plain.device = device;
  plain.cmd_fd = -1;
  plain.async_fd = Process::get().verbs().async_fd();
  plain.num_comp_vectors = 1;
  pthread_mutex_init(&plain.mutex, nullptr);
  plain.abi_compat = __VERBS_ABI_IS_EXTENDED;
  fill_operations(*context);
  return &plain;
}

UROCE_PUBLIC int ibv_close_device(ibv_context* context) {
  UROCE_PASS_ON(context, ibv_close_device, context);
  pthread_mutex_destroy(&context->mutex);
  delete &context_of(context);
  return 0;
}

UROCE_PUBLIC int ibv_query_device(ibv_context* context, ibv_device_attr* attr) {
  UROCE_PASS_ON(context, ibv_query_device, context, attr);
  *attr = Process::get().verbs().query_device();
  return 0;
}

#undef ibv_query_port
UROCE_PUBLIC int ibv_query_port(ibv_context* context, uint8_t port_num,
                                _compat_ibv_port_attr* attr) {
  UROCE_PASS_ON(context, ibv_query_port, context, port_num, attr);
  ibv_port_attr full{};
  if (const int rc = fill_port(port_num, full); rc != 0) {
    return rc;
  }
  // The old struct ends before the fields that were added later.
  std::memcpy(attr, &full, offsetof(ibv_port_attr, port_cap_flags2));
  return 0;
}

UROCE_PUBLIC int ibv_query_gid(ibv_context* context, uint8_t port_num, int index, ibv_gid* gid) {
  UROCE_PASS_ON(context, ibv_query_gid, context, port_num, index, gid);
  const auto found = Process::get().verbs().query_gid(port_num, index);
  if (!found) {
    errno = found.error().code;
    return -1;
  }
  *gid = *found;
  return 0;
}

UROCE_PUBLIC int _ibv_query_gid_ex(ibv_context* context, uint32_t port_num, uint32_t index,
                                   ibv_gid_entry* entry, uint32_t flags, size_t size) {
  UROCE_PASS_ON(context, _ibv_query_gid_ex, context, port_num, index, entry, flags, size);
  const auto found =
      Process::get().verbs().query_gid(static_cast<uint8_t>(port_num), static_cast<int>(index));
  if (!found) {
    return found.error().code == EINVAL && port_num == 1 ? ENODATA : found.error().code;
  }
  ibv_gid_entry full{};
  full.gid = *found;
  full.gid_index = index;
  full.port_num = port_num;
  full.gid_type = IBV_GID_TYPE_ROCE_V2;
  std::memcpy(entry, &full, std::min(size, sizeof full));
  return 0;
}

UROCE_PUBLIC ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries,
                                          size_t max_entries, uint32_t flags, size_t size) {
  UROCE_PASS_ON(context, _ibv_query_gid_table, context, entries, max_entries, flags, size);
  size_t n = 0;
  auto* at = reinterpret_cast<char*>(entries);
  while (n < max_entries && _ibv_query_gid_ex(context, 1, static_cast<uint32_t>(n),
                                              reinterpret_cast<ibv_gid_entry*>(at), 0, size) == 0) {
    at += size;
    ++n;
  }
  if (Process::get().verbs().query_gid(1, static_cast<int>(n))) {
    return -EINVAL;  // there are more
  }
  return static_cast<ssize_t>(n);
}

/// Private to rdma-core, but its own programs import it. 1: RoCE v2.
UROCE_PUBLIC int ibv_query_gid_type(ibv_context* context, uint8_t port_num, unsigned index,
                                    int* type) {
  UROCE_PASS_ON(context, ibv_query_gid_type, context, port_num, index, type);
  if (const auto found = Process::get().verbs().query_gid(port_num, static_cast<int>(index));
      !found) {
    errno = found.error().code;
    return -1;
  }
  *type = 1;
  return 0;
}

UROCE_PUBLIC int ibv_query_pkey(ibv_context* context, uint8_t port_num, int index, __be16* pkey) {
  UROCE_PASS_ON(context, ibv_query_pkey, context, port_num, index, pkey);
  const auto found = Process::get().verbs().query_pkey(port_num, index);
  if (!found) {
    errno = found.error().code;
    return -1;
  }
  *pkey = htobe16(*found);
  return 0;
}

UROCE_PUBLIC int ibv_get_pkey_index(ibv_context* context, uint8_t port_num, __be16 pkey) {
  UROCE_PASS_ON(context, ibv_get_pkey_index, context, port_num, pkey);
  __be16 found = 0;
  for (int i = 0; ibv_query_pkey(context, port_num, i, &found) == 0; ++i) {
    if (found == pkey) {
      return i;
    }
  }
  return -1;
}

UROCE_PUBLIC int ibv_fork_init() {
  return 0;  // nothing is pinned, so a fork does no harm
}

UROCE_PUBLIC ibv_fork_status ibv_is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}
