# Words and names in a Postgres of one's own.
pgrecall init
pgrecall remember 'Mira signs the harbour contract on Friday.'
pgrecall search 'harbour contract' | grep 'Mira signs'
