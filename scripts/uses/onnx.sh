# A cross-encoder as ONNX, which then reranks.
mkdir tiny
python "$USES/tiny_model.py" BertForSequenceClassification tiny || pgrecall models export-onnx tiny exported
pgrecall models export-onnx tiny exported
export PGRECALL_RERANKER=onnx PGRECALL_RERANKER_MODEL=$PWD/exported
pgrecall init
pgrecall remember 'the ferry leaves the harbour at noon'
pgrecall search 'the ferry to the harbour' --rerank | grep 'ferry leaves'
