#include "dist/plan/fold_internal.h"

namespace tessera::plan {

Rounds fold_around(const Fold& fold, int rank, Rounds exchanges, const Range& given, Combine combine,
                   const Range& taken) {
  if (fold.extra == 0) return exchanges;
  Round first, last;
  if (fold.passive(rank)) {
    for (Round& round : exchanges) round.clear();
    first = {{.send = given, .to = rank - 1}};
    last = {{.receive = taken, .from = rank - 1}};
  } else if (fold.paired(rank)) {
    first = {{.receive = given, .from = rank + 1, .combine = combine}};
    last = {{.send = taken, .to = rank + 1}};
  }
  exchanges.insert(exchanges.begin(), std::move(first));
  exchanges.push_back(std::move(last));
  return exchanges;
}

}  // namespace tessera::plan
