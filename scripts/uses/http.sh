# The service answers, and so do its page and its metrics.
pgrecall init
pgrecall remember 'Mira signs the harbour contract on Friday.'
pgrecall serve --port 0 >log 2>&1 &
service=$!
trap 'kill $service 2>/dev/null' EXIT
until grep --quiet http: log; do
    kill -0 $service 2>/dev/null || { cat log >&2; exit 1; }
    sleep 1
done
at=$(grep --only-matching 'http://[0-9.]*:[0-9]*' log | head -1)
ask() {
    python - "$@" <<'END'
import sys
from urllib.request import Request, urlopen

address, *body = sys.argv[1:]
asked = Request(address, body[0].encode() if body else None, {"Content-Type": "application/json"})
print(urlopen(asked).read().decode())
END
}
ask "$at/v1/search" '{"query": "harbour contract"}' | grep 'Mira signs'
ask "$at/?q=harbour" | grep 'Mira signs'
ask "$at/metrics" | grep pgrecall
