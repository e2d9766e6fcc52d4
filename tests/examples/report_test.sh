#!/usr/bin/env bash
# The page of train --report in a browser: opens without network and without complaints, draws, and is accessible, in light and dark,
# wide and at 390 pixels. Leaves its screenshots in FOLDER. Exit status 77, with the reason, where there is no Chromium.
# usage: report_test.sh PAGE FOLDER
set -uo pipefail
page=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "skipped: no Chromium here (Debian's package chromium)"
  exit 77
}
mkdir -p "$folder"

# The same page with the checks behind its own script. They see what readers see; readers never get them.
checked="$folder/checked.html"
{ sed '/^<\/body>$/,$d' "$page"; echo "<script>"; cat "$here/page_check.js"; echo "</script></body></html>"; } >"$checked"

failures=0
# No name resolves and no proxy answers, so whatever the page fetched would be a complaint.
browse() {  # SCHEME (0 dark, 1 light) WIDTH HEIGHT OPTION...
  timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
    --user-data-dir="$folder/profile" --proxy-server=127.0.0.1:9 --host-resolver-rules="MAP * ~NOTFOUND" --enable-logging=stderr \
    --blink-settings=preferredColorScheme="$1" --window-size="$2,$3" --virtual-time-budget=3000 "${@:4}" 2>"$folder/complaints"
}

look() {  # NAME SCHEME WIDTH HEIGHT
  local url="file://$(realpath "$checked")" found
  found=$(browse "$2" "$3" "$4" --dump-dom "$url" | sed -n '/id="checked"/,/^checked/p')
  if ! grep -q 'checks, 0 findings' <<<"$found"; then
    echo "FAILED: $1: ${found:-no checks ran}"
    failures=$((failures + 1))
  fi
  if grep -q CONSOLE "$folder/complaints"; then
    echo "FAILED: $1: the console says: $(grep CONSOLE "$folder/complaints")"
    failures=$((failures + 1))
  fi
  browse "$2" "$3" "$4" --screenshot="$folder/$1.png" "file://$(realpath "$page")" >/dev/null
  [ -s "$folder/$1.png" ] || { echo "FAILED: $1: no screenshot" && failures=$((failures + 1)); }
  echo "$1: $(grep -o '[0-9]* checks' <<<"$found")"
}

look light 1 1100 4600
look dark 0 1100 4600
look narrow 1 390 6000
look narrow-dark 0 390 6000
rm -rf "$folder/profile"
exit $((failures > 0))
