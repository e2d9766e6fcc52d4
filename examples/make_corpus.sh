#!/usr/bin/env bash
# Remakes examples/corpus.txt: this project's own tracked text, at most 300 000 bytes of plain ASCII, cut at a line end.
# Files come in the order of a hash of their names, so that the held-out tail resembles the rest.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

git ls-files '*.md' '*.h' '*.cpp' '*.sh' '*.py' '*CMakeLists.txt' |
  while read -r file; do echo "$(echo "$file" | md5sum) $file"; done | sort | cut -d ' ' -f 4- |
  xargs -d '\n' cat | tr -cd '\n -~' |
  awk '(bytes += length + 1) <= 300000' >examples/corpus.txt.new
mv examples/corpus.txt.new examples/corpus.txt
wc -c examples/corpus.txt
