#include "examples/corpus.h"

#include <cstddef>

// No compiler ever parses the text: the assembler copies it, found in the folder that examples/CMakeLists.txt
// names.
asm(R"(
    .pushsection .rodata
    .globl tessera_corpus_begin
    .globl tessera_corpus_end
tessera_corpus_begin:
    .incbin "corpus.txt"
tessera_corpus_end:
    .popsection
)");

extern "C" const char tessera_corpus_begin[], tessera_corpus_end[];

namespace tessera {

std::string_view tessera_corpus() {
  return {tessera_corpus_begin, static_cast<std::size_t>(tessera_corpus_end - tessera_corpus_begin)};
}

}  // namespace tessera
