# The service answers, and so do its page and its metrics.
pgrecall init
pgrecall remember 'Mira signs the harbour contract on Friday.'
pgrecall serve --port 0 2>log &
trap 'kill %1 2>/dev/null' EXIT
for _ in $(seq 120); do
    at=$(grep -o 'http://[0-9.]*:[0-9]*' log | head -1) && break
    kill -0 %1 2>/dev/null || { cat log >&2; exit 1; }
    sleep 1
done
ask() { python -c 'import sys, urllib.request as u; print(u.urlopen(u.Request(*sys.argv[1:2], sys.argv[2].encode() if sys.argv[2:] else None, {"Content-Type": "application/json"})).read().decode())' "$@"; }
ask "$at/v1/search" '{"query": "harbour contract"}' | grep 'Mira signs'
ask "$at/?q=harbour" | grep 'Mira signs'
ask "$at/metrics" | grep pgrecall
