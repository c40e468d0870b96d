# The store returns what was put.
pgrecall init
python <<'END' | grep 4711
from pgrecall import Memory
from pgrecall.integrations.langgraph import PgrecallStore

with Memory() as memory:
    store = PgrecallStore(memory)
    store.put(("users", "42"), "gate", {"text": "The gate code is 4711."})
    print(store.search(("users",), query="gate code"))
END
