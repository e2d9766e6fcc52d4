#include "dist/trace/gather.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/comm/collectives.h"
#include "dist/comm/work.h"
#include "dist/trace/account_json.h"

namespace tessera::dist {
namespace {

std::vector<Index> sizes_on(const Comm& comm, std::size_t mine) {
  std::vector<Index> sizes(static_cast<std::size_t>(comm.size()));
  sizes[static_cast<std::size_t>(comm.rank())] = static_cast<Index>(mine);
  all_gather(comm, sizes);
  return sizes;
}

}  // namespace

std::vector<std::byte> all_bytes(const Comm& comm, std::span<const std::byte> mine) {
  const std::vector<plan::Range> parts = plan::in_a_row(sizes_on(comm, mine.size()));
  std::vector<std::byte> all(static_cast<std::size_t>(parts.back().end()));
  std::ranges::copy(mine, all.begin() + parts[static_cast<std::size_t>(comm.rank())].begin);
  all_gather(comm, all, parts);
  return all;
}

std::vector<std::string> gather_texts(const Comm& comm, const std::string& mine) {
  const std::vector<Index> sizes = sizes_on(comm, mine.size());
  const auto bytes_of_text = [](std::string& text) { return std::as_writable_bytes(std::span(text)); };
  if (comm.rank() > 0) {
    std::string text = mine;
    send_async(comm, bytes_of_text(text), 0).wait();
    return {};
  }
  std::vector<std::string> texts = {mine};
  for (int rank = 1; rank < comm.size(); ++rank) {
    texts.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank)]), '\0');
    receive_async(comm, bytes_of_text(texts.back()), rank).wait();
  }
  return texts;
}

std::vector<RankAccount> gather_accounts(const Comm& comm, const RankAccount& mine) {
  std::vector<RankAccount> accounts;
  for (const std::string& text : gather_texts(comm, nlohmann::json(mine).dump()))
    accounts.push_back(nlohmann::json::parse(text));
  return accounts;
}

}  // namespace tessera::dist
