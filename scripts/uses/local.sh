# Search by meaning: no word of the question is in the memory.
export PGRECALL_EMBEDDER=local PGRECALL_DATABASE_URL=$OTHER_DATABASE_URL
pgrecall init
pgrecall remember 'The ferry was cancelled, for the storm.'
pgrecall search 'ships that did not sail in bad weather' | grep 'ferry was cancelled'
