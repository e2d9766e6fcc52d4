#include "examples/step_communication.h"

#include "dist/parallel/buckets.h"
#include "dist/parallel/rank_major.h"

namespace tessera {
namespace {

/// What is under way: no more than one beside the one that is waited for.
class InFlight {
 public:
  void add(const dist::Work& work) {
    previous_.wait();
    previous_ = work;
  }
  void wait() const { previous_.wait(); }

 private:
  dist::Work previous_{};
};

}  // namespace

StepCommunication::StepCommunication(const nn::Transformer& model, const dist::Comm& comm, int zero,
                                     Index bucket_bytes, DType dtype, const dist::CollectiveOptions& options)
    : comm_(comm), zero_(zero), options_(options) {
  const dist::Buckets buckets =
      zero == 3 ? dist::block_buckets(model) : dist::fill_buckets(model, bucket_bytes, dtype);
  for (const nn::Parameters& bucket : buckets) {
    Tensors tensors;
    for (const nn::ParameterPtr& p : bucket)
      tensors.push_back(Tensor::zeros(p->global_shape, dtype, Category::communication));
    all_.insert(all_.end(), tensors.begin(), tensors.end());
    buckets_.push_back(std::move(tensors));
  }
}

dist::Work StepCommunication::reduce(const Tensors& bucket) const {
  if (zero_ == 0) return dist::all_reduce_async(comm_, bucket, options_);
  const dist::RankMajor rows = dist::rank_major(bucket, comm_.size());
  return dist::reduce_scatter_async(comm_, rows.buffer, rows.parts, options_);
}

dist::Work StepCommunication::gather(const Tensors& values) const {
  const dist::RankMajor rows = dist::rank_major(values, comm_.size());
  return dist::all_gather_async(comm_, rows.buffer, rows.parts, options_);
}

// As FullySharded does: the last block stays for backward, where a block is gathered before the gradients of
// the one that follows it leave.
void StepCommunication::fully_sharded() const {
  const std::span blocks(buckets_.data(), buckets_.size() - 1);
  InFlight in_flight;
  in_flight.add(gather(ends()));
  for (std::size_t i = blocks.size(); i-- > 0;) in_flight.add(gather(blocks[i]));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i + 1 < blocks.size()) in_flight.add(gather(blocks[i + 1]));
    in_flight.add(reduce(blocks[i]));
  }
  in_flight.add(reduce(ends()));
  in_flight.wait();
}

void StepCommunication::beside_computing() const {
  if (zero_ == 3) return fully_sharded();
  std::vector<dist::Work> works;
  for (const Tensors& bucket : buckets_) works.push_back(reduce(bucket));
  for (const dist::Work& work : works) work.wait();
}

void StepCommunication::first_gather() const {
  if (zero_ < 3) return;
  gather(ends()).wait();
  gather(buckets_[buckets_.size() - 2]).wait();
}

void StepCommunication::last_reduce() const {
  if (zero_ == 3) reduce(ends()).wait();
}

void StepCommunication::after_update() const {
  if (zero_ == 1 || zero_ == 2) gather(all_).wait();
}

}  // namespace tessera
