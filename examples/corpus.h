#pragma once

#include <string_view>

namespace tessera {

/// The text of examples/corpus.txt, embedded at build time: plain ASCII, valid for the life of the program.
std::string_view tessera_corpus();

}  // namespace tessera
