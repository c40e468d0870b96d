# Link graphs by compiled code.
python -c 'from pgrecall.graph.link_graph import LinkGraph; print(LinkGraph.of([(1, 2), (2, 3)], accelerate=True))'
