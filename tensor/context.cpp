#include "tensor/context.h"

namespace tessera {

Context& context() {
  thread_local Context instance;
  return instance;
}

}  // namespace tessera
