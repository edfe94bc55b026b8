// A key-value store whose server does nothing: clients READ slots, and write them under a lock that
// they take by COMPARE AND SWAP. Each slot begins with its version; while it is odd somebody
// writes.
//   example-kv                                      the store
//   example-kv localhost put colour blue get colour a client, any number of put and get
// SPDX-License-Identifier: BSD-3-Clause
#include <functional>
#include <string>

#include "rc.h"

namespace {

constexpr size_t kSlots = 1024;

struct Slot {
  uint64_t version = 0;  ///< 0: never written; odd: being written
  char key[24] = {};
  char value[32] = {};
};

class Client {
 public:
  Client(roce::Endpoint& endpoint, example::Connection& store)
      : endpoint_(endpoint), store_(store) {}

  void put(const std::string& key, const std::string& value) {
    const size_t at = find(key);
    const uint64_t before = slot().version;
    if (swap_version(at, before, before + 1) != before) {
      return put(key, value);  // somebody else was faster
    }
    std::snprintf(slot().key, sizeof slot().key, "%s", key.c_str());
    std::snprintf(slot().value, sizeof slot().value, "%s", value.c_str());
    slot().version = before + 1;
    move(IBV_WR_RDMA_WRITE, at);
    swap_version(at, before + 1, before + 2);
  }

  /// Empty when there is none.
  std::string get(const std::string& key) {
    find(key);
    return slot().version == 0 ? std::string() : slot().value;
  }

 private:
  // Own memory: a slot, then eight bytes for what an atomic brings.
  Slot& slot() { return *reinterpret_cast<Slot*>(store_.bytes.data()); }
  uint64_t address_of(size_t at) const { return store_.there.address + at * sizeof(Slot); }

  /// READs the slot that holds `key`, or the free one where it belongs.
  size_t find(const std::string& key) {
    size_t at = std::hash<std::string>()(key) % kSlots;
    for (size_t tried = 0; tried < kSlots; ++tried, at = (at + 1) % kSlots) {
      do {
        move(IBV_WR_RDMA_READ, at);
      } while (slot().version % 2 == 1);
      if (slot().version == 0 || key == slot().key) {
        return at;
      }
    }
    example::die("the store is full");
  }

  void move(ibv_wr_opcode opcode, size_t at) {
    ibv_send_wr wr{};
    wr.opcode = opcode;
    wr.wr.rdma = {address_of(at), store_.there.rkey};
    store_.post(wr, 0, sizeof(Slot));
    example::wait_for(endpoint_, store_.cq);
  }

  /// Returns the version that was there; it is `to` now if that was `from`.
  uint64_t swap_version(size_t at, uint64_t from, uint64_t to) {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    wr.wr.atomic = {address_of(at), from, to, store_.there.rkey};
    store_.post(wr, sizeof(Slot), sizeof(uint64_t));
    example::wait_for(endpoint_, store_.cq);
    uint64_t found = 0;
    std::memcpy(&found, store_.bytes.data() + sizeof(Slot), sizeof found);
    return found;
  }

  roce::Endpoint& endpoint_;
  example::Connection& store_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool server = argc < 2;
  const auto endpoint = example::open_endpoint(server);
  example::Peer peer(*endpoint, server ? nullptr : argv[1]);
  example::Connection connection(*endpoint, server ? kSlots * sizeof(Slot) : sizeof(Slot) + 8);
  connection.connect(peer);
  Client client(*endpoint, connection);
  for (int i = 2; !server && i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "put" && i + 2 < argc) {
      client.put(argv[i + 1], argv[i + 2]);
      i += 2;
    } else if (word == "get" && i + 1 < argc) {
      std::printf("%s = %s\n", argv[i + 1], client.get(argv[i + 1]).c_str());
      i += 1;
    } else {
      example::die("put KEY VALUE or get KEY, not " + word);
    }
  }
  peer.meet();  // the server polls in here until the client is done
  return 0;
}
