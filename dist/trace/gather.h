#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "dist/comm/comm.h"
#include "dist/trace/account.h"

namespace tessera::dist {

/// All ranks' bytes, in order of rank. Collective: an all_gather of one number each, one of the bytes.
std::vector<std::byte> all_bytes(const Comm& comm, std::span<const std::byte> mine);

/// All ranks' records, in order of rank.
template <class Record>
std::vector<Record> all_of(const Comm& comm, const std::vector<Record>& mine) {
  static_assert(std::is_trivially_copyable_v<Record>);
  const std::vector<std::byte> bytes = all_bytes(comm, std::as_bytes(std::span(mine)));
  const auto* begin = reinterpret_cast<const Record*>(bytes.data());
  return {begin, begin + bytes.size() / sizeof(Record)};
}

/// Each rank's text, on rank 0; elsewhere nothing. Collective: an all_gather of one number per rank, then a
/// message from each.
std::vector<std::string> gather_texts(const Comm& comm, const std::string& mine);
/// Each rank's accounts in the same way.
std::vector<RankAccount> gather_accounts(const Comm& comm, const RankAccount& mine);

}  // namespace tessera::dist
