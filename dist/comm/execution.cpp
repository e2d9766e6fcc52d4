#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "dist/comm/execution_internal.h"

namespace tessera::dist {
namespace {

// Of one execution at a time: what looks at each of them must stay cheap.
constexpr int kMaxRequests = 128;

constexpr Index kScratchAlignment = 16;

bool overlap(const plan::Range& a, const plan::Range& b) {
  return a.size > 0 && b.size > 0 && a.begin < b.end() && b.begin < a.end();
}

}  // namespace

Execution::Execution(std::shared_ptr<CommState> comm, Buffer buffer, SharedRounds rounds,
                     const RunOptions& options, int tag, Counter& counter)
    : comm_(std::move(comm)),
      buffer_(std::move(buffer)),
      shared_rounds_(std::move(rounds)),
      rounds_(*shared_rounds_),
      options_(options),
      tag_(tag),
      counter_(counter) {
  const Index limit = options.cutting.message_limit_bytes;
  segment_size_ = std::max<Index>(
      1, (collective() ? std::min(limit, options.cutting.segment_bytes) : limit) / buffer_.bytes(1));
  pieces_.reserve(4);
  requests_.reserve(4);
  ++counter_.calls;
  if (collective()) comm_->collectives.push_back(this);
}

void Execution::start() {
  // Pieces of two messages with one tag must not mix, so all of a point-to-point message is posted at once.
  do {
    worked_bytes_ = 0;
  } while (post() && !collective());
  finish_if_done();
}

bool Execution::advance() {
  worked_bytes_ = 0;
  bool any = collect();
  if (!any && all_posted() && num_requests_ == std::ssize(pieces_)) return false;  // most looks end here
  while (combine_one()) any = true;
  any |= post();
  finish_if_done();
  return any;
}

void Execution::finish_if_done() {
  if (!all_posted() || !pieces_.empty() || done_) return;
  done_ = true;
  record_end();
  if (collective()) {
    auto& under_way = comm_->collectives;
    under_way.front() == this ? under_way.pop_front() : void(std::erase(under_way, this));
  }
  buffer_ = {};
}

// ---- posting ----

bool Execution::post() {
  if (ready_) {
    if (!ready_()) return false;
    ready_ = nullptr;
  }
  bool any = false;
  while (!all_posted()) {
    const plan::Round& round = rounds_[round_];
    if (next_receive_ == 0 && next_send_ == 0 && !room()) break;
    // Sends first: a small one is on its way while the receive is posted.
    for (; next_send_ < round.size() && post_send(round[next_send_]); ++next_send_) any = true;
    for (; next_receive_ < round.size() && post_receive(round[next_receive_]); ++next_receive_) any = true;
    if (next_receive_ < round.size() || next_send_ < round.size()) break;
    next_group();
  }
  return any;
}

// Bytes in flight are those of all pieces, so what arrives faster than it is added does not pile up. With
// nothing on its way there is room all the same: what has arrived may have to wait for a later group to be
// sent. And the oldest collective of a communicator has room whatever later ones have in flight, so one after
// the other gets done on all ranks.
bool Execution::room() const {
  if (!collective()) return true;
  if (num_requests_ >= kMaxRequests) return false;
  const bool oldest = comm_->collectives.front() == this;
  if (oldest ? num_requests_ == 0 : comm_->in_flight_bytes == 0) return true;
  Index bytes = oldest ? in_flight_bytes_ : comm_->in_flight_bytes;
  for (const plan::Step& step : rounds_[round_])
    if (!step.local()) bytes += buffer_.bytes(segment(step.send).size + segment(step.receive).size);
  const Cutting& cutting = options_.cutting;
  return bytes <= std::max(cutting.in_flight_bytes, awaited_ ? cutting.awaited_bytes : 0);
}

void Execution::next_group() {
  Index longest = 0;
  for (const plan::Step& step : rounds_[round_])
    longest = std::max({longest, step.send.size, step.receive.size});
  next_receive_ = next_send_ = 0;
  if (++segment_ * segment_size_ < longest) return;
  segment_ = 0;
  ++round_;
}

plan::Range Execution::segment(const plan::Range& message) const {
  const Index begin = std::min(segment_ * segment_size_, message.size);
  return {message.begin + begin, std::min(segment_size_, message.size - begin)};
}

bool Execution::post_receive(const plan::Step& step) {
  const plan::Range range = segment(step.receive);
  if (range.size == 0 || step.local()) return true;
  const bool adds = step.combine == plan::Combine::add;
  if (!adds && !can_overwrite(range)) return false;

  Piece& piece = add_piece(Direction::receive, range, step.from);
  piece.combine = step.combine;
  std::byte* into = adds ? nullptr : buffer_.in_place(range);
  if (into == nullptr) into = scratch_for(piece);
  if (faults() != nullptr) faults()->poison(into, piece.bytes);
  record_posted(piece);
  require_success(MPI_Irecv(into, static_cast<int>(piece.bytes), MPI_BYTE, comm_->mpi_ranks[step.from], tag_,
                            comm_->mpi, &requests_.back()),
                  "MPI_Irecv");
  if (segment_ == 0) ++counter_.messages_received;
  ++counter_.pieces_received;
  counter_.bytes_received += piece.bytes;
  return true;
}

bool Execution::post_send(const plan::Step& step) {
  const plan::Range range = segment(step.send);
  if (range.size == 0) return true;
  if (!can_send(range)) return false;
  if (step.local()) return copy_here(range, segment(step.receive));
  std::byte* from = buffer_.in_place(range);
  if (from == nullptr && !may_work(buffer_.bytes(range.size))) return false;

  Piece& piece = add_piece(Direction::send, range, step.to);
  if (from == nullptr) {
    from = scratch_for(piece);
    buffer_.pack(range, from);
    piece.range = {};
  }
  const bool synchronous = faults() != nullptr && faults()->before_send();
  record_posted(piece);
  require_success(
      (synchronous ? MPI_Issend : MPI_Isend)(from, static_cast<int>(piece.bytes), MPI_BYTE,
                                             comm_->mpi_ranks[step.to], tag_, comm_->mpi, &requests_.back()),
      "MPI_Isend");
  if (segment_ == 0) ++counter_.messages_sent;
  ++counter_.pieces_sent;
  counter_.bytes_sent += piece.bytes;
  return true;
}

bool Execution::copy_here(const plan::Range& source, const plan::Range& target) {
  if (!can_overwrite(target) || !may_work(buffer_.bytes(source.size))) return false;
  buffer_.copy(source, target);
  return true;
}

// One segment's work at a time, or as many small pieces.
bool Execution::may_work(Index bytes) {
  if (worked_bytes_ > 0 && worked_bytes_ + bytes > buffer_.bytes(segment_size_)) return false;
  worked_bytes_ += bytes;
  return true;
}

std::byte* Execution::scratch_for(Piece& piece) {
  const Index room = (piece.bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  if (small_used_ + room <= std::ssize(small_)) {
    piece.packed = small_.data() + small_used_;
    small_used_ += room;
  } else {
    piece.storage = std::make_unique<Storage>(piece.bytes, Category::communication);
    piece.packed = static_cast<std::byte*>(piece.storage->data());
  }
  return piece.packed;
}

// Yet to be posted.
Execution::Piece& Execution::add_piece(Direction direction, const plan::Range& range, int peer) {
  Piece& piece = pieces_.emplace_back();
  piece.direction = direction;
  piece.range = range;
  piece.round = round_;
  piece.peer = peer;
  piece.bytes = buffer_.bytes(range.size);
  requests_.push_back(MPI_REQUEST_NULL);
  count_in_flight(piece.bytes);
  ++num_requests_;
  return piece;
}

void Execution::count_in_flight(Index bytes) {
  in_flight_bytes_ += bytes;
  if (collective()) comm_->in_flight_bytes += bytes;
}

// ---- what must wait for what (dist/plan/rounds.h); only earlier groups have pieces ----

bool Execution::can_send(const plan::Range& range) const {
  return std::ranges::none_of(pieces_, [&](const Piece& piece) {
    return piece.direction == Direction::receive && piece.round < round_ && overlap(piece.range, range);
  });
}

bool Execution::can_overwrite(const plan::Range& range) const {
  return std::ranges::none_of(
      pieces_, [&](const Piece& piece) { return piece.round < round_ && overlap(piece.range, range); });
}

bool Execution::can_combine(const Piece& received) const {
  if (received.combine == plan::Combine::copy) return true;  // it could overwrite when it was posted
  const bool waits_for_piece = std::ranges::any_of(pieces_, [&](const Piece& piece) {
    const bool earlier =
        piece.direction == Direction::send ? piece.round <= received.round : piece.round < received.round;
    return earlier && overlap(piece.range, received.range);
  });
  if (waits_for_piece) return false;
  if (received.round < round_) return true;

  // Sends of the same round that have not been posted.
  const plan::Round& round = rounds_[round_];
  for (std::size_t i = 0; i < round.size(); ++i) {
    const Index posted = std::min((segment_ + (i < next_send_ ? 1 : 0)) * segment_size_, round[i].send.size);
    if (overlap({round[i].send.begin + posted, round[i].send.size - posted}, received.range)) return false;
  }
  return true;
}

// ---- completion ----

bool Execution::collect() {
  if (num_requests_ == 0 || (faults() != nullptr && faults()->looks_away())) return false;
  std::vector<MPI_Status>& statuses = comm_->statuses;
  std::vector<int>& completed = comm_->completed;
  if (statuses.size() < requests_.size()) {
    completed.resize(requests_.size());
    statuses.resize(requests_.size());
  }
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                completed.data(), statuses.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i) require_success(statuses[i].MPI_ERROR, "MPI_Testsome");
  require_success(code, "MPI_Testsome");
  if (count == 0) return false;

  for (int i = 0; i < count; ++i) {
    Piece& piece = pieces_[completed[i]];
    if (piece.direction == Direction::receive) check_size(piece, statuses[i]);
    piece.arrived = true;
    record_arrived(piece);
  }
  num_requests_ -= count;
  drop_finished();
  return true;
}

// Sent pieces and those that arrived in place.
void Execution::drop_finished() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (piece.arrived && (piece.direction == Direction::send || piece.packed == nullptr)) {
      count_in_flight(-piece.bytes);
      continue;
    }
    if (kept != i) {
      pieces_[kept] = std::move(piece);
      requests_[kept] = requests_[i];
    }
    ++kept;
  }
  pieces_.resize(kept);
  requests_.resize(kept);
}

bool Execution::combine_one() {
  if (num_requests_ == std::ssize(pieces_)) return false;
  const auto piece =
      std::ranges::find_if(pieces_, [&](const Piece& p) { return p.arrived && can_combine(p); });
  if (piece == pieces_.end() || !may_work(piece->bytes)) return false;
  std::byte* const packed = piece->packed;
  if (piece->combine == plan::Combine::add)
    buffer_.combine(piece->range, packed, options_.reduction);
  else
    buffer_.unpack(piece->range, packed);
  if (faults() != nullptr) faults()->poison(packed, piece->bytes);
  count_in_flight(-piece->bytes);
  requests_.erase(requests_.begin() + (piece - pieces_.begin()));
  pieces_.erase(piece);
  return true;
}

void Execution::check_size(const Piece& piece, const MPI_Status& status) const {
  int bytes = 0;
  require_success(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  if (bytes == piece.bytes) return;
  std::ostringstream text;
  text << '[' << to_string(options_.kind) << "] on " << to_string(comm_->name) << ": rank " << comm_->rank
       << " got " << bytes << " bytes from rank " << piece.peer << ", expected " << piece.bytes;
  throw std::runtime_error(text.str());
}

}  // namespace tessera::dist
