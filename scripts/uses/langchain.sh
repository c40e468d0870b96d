# The retriever finds a memory.
pgrecall init
python <<'END' | grep 4711
from pgrecall import Memory
from pgrecall.integrations.langchain import PgrecallRetriever

with Memory() as memory:
    memory.remember("The gate code is 4711.")
    print(PgrecallRetriever(memory=memory, options={"k": 5}).invoke("gate code?"))
END
