"""The parts of search in Python: embedders, rerankers, contexts, calibration and explanations."""
