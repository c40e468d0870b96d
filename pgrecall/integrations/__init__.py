"""pgrecall where agents live already: small adapters, each for one library, on the client.

tools        function calling in the form of OpenAI's API; needs no library
langchain    a retriever for LangChain (extra ``langchain``)
langgraph    a store for LangGraph (extra ``langgraph``)
llama_index  a retriever for LlamaIndex (extra ``llamaindex``)

Each imports its library when it is imported itself, and raises :class:`pgrecall.MissingExtra` without it.
"""
