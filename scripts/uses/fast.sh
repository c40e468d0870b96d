# Link graphs by compiled code.
python -c 'from pgrecall.graph import LinkGraph; print(LinkGraph.from_links([(1, 2), (2, 3)], accelerate=True))'
