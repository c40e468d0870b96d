# An embedder that is not the default one: here a tiny one, made on the spot.
export PGRECALL_EMBEDDER=local PGRECALL_EMBEDDER_MODEL=$PWD/tiny PGRECALL_DATABASE_URL=$OTHER_DATABASE_URL
mkdir tiny
python "$USES/tiny_model.py" BertModel tiny || pgrecall init
pgrecall init
pgrecall remember 'the ferry leaves the harbour at noon'
pgrecall search 'the ferry to the harbour' | grep 'ferry leaves'
