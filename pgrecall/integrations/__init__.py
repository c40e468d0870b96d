"""Adapters of the client for other libraries.

tools        function calling in the form of OpenAI's API; needs no library
langchain    a retriever for LangChain (extra ``langchain``)
langgraph    a store for LangGraph (extra ``langgraph``)
llama_index  a retriever for LlamaIndex (extra ``llamaindex``)
retrieval    functions shared by the retrievers

Importing an adapter without its library raises :class:`pgrecall.MissingExtra`.
"""
