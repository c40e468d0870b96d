# A graph of links as PNG.
pgrecall init
pgrecall remember 'Mira signs the harbour contract on Friday.' --key contract
pgrecall remember 'The harbour is in Oslo.' --key harbour
pgrecall link contract harbour
pgrecall charts links contract --out links.png
test -s links.png
