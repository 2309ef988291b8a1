# Sourced by run: the lines of the summary. `results` is the folder of the results.
# shellcheck shell=bash

# part_line NAME: prints status and note of a part, separated by a tab.
part_line() {
  awk -F '\t' -v name="$1" '$1 == name { line = $2 "\t" $3 }
    END { print line == "" ? "LATER\tnot run" : line }' "$results/parts.txt"
}

# print_parts_row NAMES DEMAND: FAIL where a part failed, else LATER where one did not end.
print_parts_row() {
  local name status note verdict=PASS why=""
  for name in $1; do
    IFS=$'\t' read -r status note < <(part_line "$name")
    if [ "$status" = PASS ] || [ "$verdict" = FAIL ]; then continue; fi
    verdict=$status
    why=" ($name: $note)"
  done
  echo "$verdict $2$why"
}

# print_bench_row ROW LIMIT DEMAND: compares the row's milliseconds in the part's table.
print_bench_row() {
  local found=""
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then
    echo "LATER $3 (the fakes have no speed)"
    return
  fi
  if [ -f "$results/bench.txt" ]; then
    found=$(awk -v row="$1" '$1 == row && $2 == 1 { print $3 }' "$results/bench.txt")
  fi
  if [ -z "$found" ]; then
    echo "LATER $3 (bench: $1 was not measured)"
  elif awk -v found="$found" -v limit="$2" 'BEGIN { exit !(found <= limit) }'; then
    echo "PASS $3 ($found ms)"
  else
    echo "FAIL $3 ($found ms)"
  fi
}

# print_row DECISION DEMAND: the line of a row of demands.txt.
print_row() {
  local row limit
  case $1 in
    part\ *) print_parts_row "${1#part }" "$2" ;;
    bench\ *)
      read -r row limit <<<"${1#bench }"
      print_bench_row "$row" "$limit" "$2"
      ;;
    later\ *) echo "LATER $2 (${1#later })" ;;
    *) echo "FAIL $2 (demands.txt: no decision '$1')" ;;
  esac
}

# print_summary DEMANDS: one line for each row of that file.
print_summary() {
  local decision demand
  while IFS='|' read -r decision demand; do
    if [[ $decision = '#'* ]]; then continue; fi
    print_row "${decision% }" "${demand# }"
  done <"$1"
}
