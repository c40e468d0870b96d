# A Postgres that starts by itself.
unset PGRECALL_DATABASE_URL
pgrecall init
pgrecall remember 'Mira signs the harbour contract on Friday.'
pgrecall search 'harbour contract' | grep 'Mira signs'
