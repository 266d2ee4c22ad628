#!/bin/sh
# Tests one program with Foretrace: ci/foretrace.sh PROGRAM [ARGUMENT...]
# Compile it with `foretrace cc` or `foretrace c++` first.
#
#   FORETRACE_RUNS       runs with different schedules (default 3)
#   FORETRACE_BUDGET     time for the analysis of each run (default 60s)
#   FORETRACE_UNDECIDED  status if nothing is certain (default 0: do not fail)
#   FORETRACE_REPORTS    folder for the reports (default foretrace-reports)
set -u
reports=${FORETRACE_REPORTS:-foretrace-reports}
name=$(basename "$1")
mkdir -p "$reports"
set -- -- "$@"
[ -f foretrace-baseline.json ] && set -- --baseline foretrace-baseline.json "$@"
[ -n "${GITHUB_ACTIONS:-}" ] && set -- --output github "$@"

foretrace test --runs "${FORETRACE_RUNS:-3}" --budget "${FORETRACE_BUDGET:-60s}" \
    --output text --output sarif="$reports/$name.sarif" --output junit="$reports/$name.xml" \
    --output json="$reports/$name.json" "$@"
status=$?

case $status in
0) ;;
1) echo "foretrace: bugs that the baseline does not have; the reports are in $reports" ;;
3) # Something is undecided or only possible: see "verdict:" above.
    status=${FORETRACE_UNDECIDED:-0} ;;
4) echo "foretrace: the program itself failed (use --expect-status if it should)" ;;
*) echo "foretrace: it could not do its work (status $status)" ;;
esac
exit "$status"
