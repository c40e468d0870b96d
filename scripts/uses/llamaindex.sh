# The retriever finds a memory.
pgrecall init
python <<'END' | grep 4711
from pgrecall import Memory
from pgrecall.integrations.llama_index import PgrecallRetriever

with Memory() as memory:
    memory.remember("The gate code is 4711.")
    print(PgrecallRetriever(memory, k=5).retrieve("gate code?"))
END
