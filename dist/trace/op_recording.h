#pragma once

#include "dist/trace/events.h"
#include "tensor/context.h"

namespace tessera::dist {

/// During its life ops of this thread are recorded.
class OpRecording {
 public:
  explicit OpRecording(Recorder& recorder)
      : observer_{[&recorder](const OpInfo&) { recorder.open(); },
                  [&recorder](const OpInfo& op) { recorder.close(SpanKind::op, op.name, op.flops); },
                  {}},
        listening_(context().observer, &observer_) {}

 private:
  const OpObserver observer_;
  const Scoped<const OpObserver*> listening_;
};

}  // namespace tessera::dist
