# Coefficients fitted to judged queries; exit code 1 says that they are no better than those that ship.
pgrecall init
pgrecall import "$EXAMPLES/vault"
pgrecall calibration fit "$EXAMPLES/judged/vault.jsonl" --dry-run || test $? = 1
