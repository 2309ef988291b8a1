# Sourced by run: the lines of the summary. `results` is the folder of the results. Parts that
# measure write the table of kiln bench: row, threads, ms, ms of the limit, their ratio, planned
# memory over live memory, and beside a peer its ms, their ratio and its form.
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

# print_unmeasured PART ROW DEMAND: the line of a row that the part's table lacks.
print_unmeasured() {
  local status note why=""
  if [ -f "$results/$1.txt" ]; then
    why=$(grep -m 1 -E "^(failed|no memory) $2: " "$results/$1.txt")
  fi
  case $why in
    failed*) echo "FAIL $3 ($1: $why)" ;;
    "no memory"*) echo "LATER $3 ($1: $why)" ;;
    *)
      IFS=$'\t' read -r status note < <(part_line "$1")
      if [ "$status" != LATER ]; then note="$2 was not measured"; fi
      echo "LATER $3 ($1: $note)"
      ;;
  esac
}

# print_comparison VALUE RELATION LIMIT DEMAND NOTE: PASS where VALUE <= or >= LIMIT.
print_comparison() {
  local verdict=FAIL
  if awk -v value="$1" -v relation="$2" -v limit="$3" \
    'BEGIN { exit !(relation == "<=" ? value <= limit : value >= limit) }'; then
    verdict=PASS
  fi
  echo "$verdict $4 ($5)"
}

# print_rate ROW SHARE DEMAND MS LIMIT: compares a copy's time with the row's.
print_rate() {
  local share
  if [ "$5" = - ]; then
    echo "LATER $3 (bench: no copy was measured for $1)"
    return
  fi
  share=$(awk -v ours="$4" -v copy="$5" 'BEGIN { printf "%.2f", copy / ours }')
  print_comparison "$share" '>=' "$2" "$3" "$share of a copy's speed, $4 ms"
}

# print_memory ROW LIMIT DEMAND RATIO: planned memory over live memory.
print_memory() {
  if [ "$4" = - ]; then
    echo "LATER $3 (bench: no memory was planned for $1)"
  else
    print_comparison "$4" '<=' "$2" "$3" "$4 times"
  fi
}

# print_peer ROW RATIO DEMAND FORM MEASURED FORMS: the peer's time over ours. With a FORM, the
# peer's forms have to include that one.
print_peer() {
  if [ -z "$5" ]; then
    echo "LATER $3 (the peer has no time for $1)"
  elif [ -n "$4" ] && ! grep -qE "[(; ]$4 [0-9.e+-]+ ms" <<<"$6"; then
    echo "LATER $3 (the peer's form '$4' was not measured: $6)"
  else
    print_comparison "$5" '>=' "$2" "$3" "$5 times, beside $6"
  fi
}

# print_measured PART ROW KIND LIMIT FORM DEMAND: decides by the row of the part's table.
print_measured() {
  local line="" ours limit memory ratio form
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then
    echo "LATER $6 (the fakes are not timed)"
    return
  fi
  if [ -f "$results/$1.txt" ]; then
    line=$(awk -v row="$2" '$1 == row && $2 == 1' "$results/$1.txt" | tail -n 1)
  fi
  if [ -z "$line" ]; then
    print_unmeasured "$1" "$2" "$6"
    return
  fi
  read -r _ _ ours limit _ memory _ ratio form <<<"$line"
  case $3 in
    bench) print_comparison "$ours" '<=' "$4" "$6" "$ours ms" ;;
    rate) print_rate "$2" "$4" "$6" "$ours" "$limit" ;;
    memory) print_memory "$2" "$4" "$6" "$memory" ;;
    peer) print_peer "$2" "$4" "$6" "$5" "$ratio" "$form" ;;
  esac
}

# print_row DECISION DEMAND: the line of a row of demands.txt.
print_row() {
  local kind first second third form
  read -r kind first second third form <<<"$1"
  case $kind in
    part) print_parts_row "${1#part }" "$2" ;;
    bench | rate | memory) print_measured bench "$first" "$kind" "$second" "" "$2" ;;
    peer) print_measured "$first" "$second" peer "$third" "$form" "$2" ;;
    later) echo "LATER $2 (${1#later })" ;;
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
