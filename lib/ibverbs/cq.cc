// Completion queues and channels, and the asynchronous events.
// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <poll.h>

#include "objects.h"

namespace roce::ibv {

/// The queue first; only when it is empty the engine is driven, and looked at once more.
int poll_cq(ibv_cq* cq, int count, ibv_wc* out) {
  Cq& ours = from<Cq>(cq);
  const std::span<ibv_wc> room(out, static_cast<size_t>(count));
  const std::lock_guard lock(ours.lock);
  int n = ours.native.poll(room);
  if (n == 0) {
    Process::get().verbs().poll();
    n = ours.native.poll(room);
  }
  return n;
}

int req_notify_cq(ibv_cq* cq, int solicited_only) {
  return result_of(from<Cq>(cq).native.arm(solicited_only != 0));
}

namespace {

/// Whose events are counted until they are acknowledged; nullptr: events of the port.
UnackedEvents* owner_of(const ibv_async_event& event) {
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return &from<Cq>(event.element.cq).async_events;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return &from<Qp>(event.element.qp).async_events;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return &from<Srq>(event.element.srq).async_events;
    default:
      return nullptr;
  }
}

/// False when the object has gone meanwhile.
bool fill(ibv_async_event& out, const verbs::AsyncEvent& event) {
  Process& process = Process::get();
  out.event_type = event.type;
  switch (event.type) {
    case IBV_EVENT_CQ_ERR:
      out.element.cq = process.cqs.find(event.object);
      return out.element.cq != nullptr;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      out.element.srq = process.srqs.find(event.object);
      return out.element.srq != nullptr;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
      out.element.port_num = static_cast<int>(event.object);
      return true;
    default:
      out.element.qp = process.qps.find(event.object);
      return out.element.qp != nullptr;
  }
}

bool is_blocking(int fd) {
  return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
}

}  // namespace

}  // namespace roce::ibv

using namespace roce::ibv;

UROCE_PUBLIC ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  UROCE_PASS_ON(context, ibv_create_comp_channel, context);
  auto made = Process::get().verbs().create_comp_channel();
  if (!made) {
    return fail_with(made.error().code);
  }
  auto* const channel = new Channel(std::move(*made));
  channel->ibv.context = context;
  channel->ibv.fd = channel->native.fd();
  return &channel->ibv;
}

UROCE_PUBLIC int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  UROCE_PASS_ON(channel->context, ibv_destroy_comp_channel, channel);
  Channel& ours = from<Channel>(channel);
  if (ours.users != 0) {
    return EBUSY;
  }
  delete &ours;
  return 0;
}

UROCE_PUBLIC ibv_cq* ibv_create_cq(ibv_context* context, int cqe, void* cq_context,
                                   ibv_comp_channel* channel, int comp_vector) {
  UROCE_PASS_ON(context, ibv_create_cq, context, cqe, cq_context, channel, comp_vector);
  ibv_cq_init_attr_ex attr{};
  attr.cqe = cqe > 0 ? static_cast<uint32_t>(cqe) : 0;
  attr.cq_context = cq_context;
  attr.channel = channel;
  attr.comp_vector = static_cast<uint32_t>(comp_vector);
  return reinterpret_cast<ibv_cq*>(create_cq_ex(context, &attr));
}

UROCE_PUBLIC int ibv_destroy_cq(ibv_cq* cq) {
  UROCE_PASS_ON(cq->context, ibv_destroy_cq, cq);
  Cq& ours = from<Cq>(cq);
  if (ours.users != 0) {
    return EBUSY;
  }
  Process::get().cqs.remove(ours.native.handle());
  ours.completion_events.wait_for_none();
  ours.async_events.wait_for_none();
  if (cq->channel != nullptr) {
    --from<Channel>(cq->channel).users;
  }
  delete &ours;
  return 0;
}

UROCE_PUBLIC int ibv_resize_cq(ibv_cq* cq, int cqe) {
  UROCE_PASS_ON(cq->context, ibv_resize_cq, cq, cqe);
  Cq& ours = from<Cq>(cq);
  const std::lock_guard lock(ours.lock);
  const int rc = result_of(ours.native.resize(cqe));
  cq->cqe = ours.native.capacity();
  return rc;
}

UROCE_PUBLIC int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  UROCE_PASS_ON(channel->context, ibv_get_cq_event, channel, cq, cq_context);
  const auto event = from<Channel>(channel).native.get_event();
  if (!event) {
    return -1;  // errno is read()'s
  }
  *cq = Process::get().cqs.find(event->handle());
  *cq_context = (*cq)->cq_context;
  from<Cq>(*cq).completion_events.got();
  return 0;
}

UROCE_PUBLIC void ibv_ack_cq_events(ibv_cq* cq, unsigned events) {
  UROCE_PASS_ON(cq->context, ibv_ack_cq_events, cq, events);
  from<Cq>(cq).native.ack_events(events);
  from<Cq>(cq).completion_events.acked(events);
}

UROCE_PUBLIC int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  UROCE_PASS_ON(context, ibv_get_async_event, context, event);
  for (;;) {
    pollfd waiting{context->async_fd, POLLIN, 0};
    if (is_blocking(context->async_fd) && poll(&waiting, 1, -1) < 0) {
      return -1;
    }
    const auto taken = Process::get().verbs().take_async_event();
    if (!taken) {
      if (is_blocking(context->async_fd)) {
        continue;  // another thread was quicker
      }
      errno = EAGAIN;
      return -1;
    }
    if (fill(*event, *taken)) {
      if (UnackedEvents* const owner = owner_of(*event)) {
        owner->got();
      }
      return 0;
    }
  }
}

UROCE_PUBLIC void ibv_ack_async_event(ibv_async_event* event) {
  const ibv_context* context = nullptr;
  switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
      context = event->element.cq->context;
      break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      context = event->element.srq->context;
      break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
    case IBV_EVENT_CLIENT_REREGISTER:
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_DEVICE_FATAL:
      return;  // nothing is counted for these
    default:
      context = event->element.qp->context;
      break;
  }
  UROCE_PASS_ON(context, ibv_ack_async_event, event);
  if (UnackedEvents* const owner = owner_of(*event)) {
    owner->acked();
  }
}
