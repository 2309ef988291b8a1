#!/usr/bin/env bash
# The parts of a run: parts.sh NAME, with the seconds that it has in KILN_PART_SECONDS. Status 0: it
# passed; 77: it could not be done, for the reason in its last line; else it failed.
set -u
folder=$(cd "$(dirname "$0")" && pwd)
bin=$folder/bin
later=77

# Test programs drop all variables of the user except these.
export KILN_TEST_BACKEND=cuda
export KILN_TEST_CUDA_DRIVER=${KILN_CUDA_DRIVER:-} KILN_TEST_CUDA_LIBRARIES=${KILN_CUDA_LIBRARIES:-}

# Processes of a part: one core drives the device, and each process has a context of it.
shards=$(($(nproc) > 16 ? 15 : $(nproc) > 2 ? $(nproc) - 1 : $(nproc)))

# run_tests NAME FILTER: the tests of a program that the filter names; status 1 if one fails, or if
# there is none.
run_tests() {
  local names
  names=$("$bin/test_$1" --list-test-names-only "$2")
  if [ -z "$names" ]; then
    echo "test_$1 has no test for $2"
    return 1
  fi
  stdbuf -oL "$bin/test_$1" "$2" -d yes || return 1
}

# report_shards FOLDER: what the processes printed, and the tests that they did not end.
report_shards() {
  cat "$1"/shard-*.txt
  echo "not done:"
  sed -n 's/^[0-9.]* s: //p' "$1"/shard-*.txt | sort | comm -13 - <(sort "$1/tests")
}

# passed_in FILE: prints the number of passed test cases of a process.
passed_in() {
  sed -n -e 's/^All tests passed (.* in \([0-9]*\) test cases*)$/\1/p' \
    -e 's/^test cases: *\([0-9]*\) | *\1 passed$/\1/p' "$1" | tail -n 1
}

# run_sharded NAME: the tests of a program by several processes, each with every nth test. Fails,
# too, where the processes together did not run each test. Tests with the tag [sources] read Kiln's
# sources.
run_sharded() {
  local passed=0 all one i
  shard_folder=$(mktemp -d) || return 1
  "$bin/test_$1" --list-test-names-only '~[slow]~[.]~[concurrency]~[sources]' |
    sed 's/^ *//' >"$shard_folder/tests"
  # A comma ends a name where Catch2 reads it.
  sed 's/[\\,]/\\&/g' "$shard_folder/tests" |
    split -n "r/$shards" -e --additional-suffix=.tests - "$shard_folder/shard-"
  trap 'wait; report_shards "$shard_folder"; rm -r "$shard_folder"; exit 143' TERM
  for i in "$shard_folder"/shard-*.tests; do
    stdbuf -oL "$bin/test_$1" -f "$i" -d yes >"${i%.tests}.txt" 2>&1 &
  done
  wait
  trap - TERM
  report_shards "$shard_folder"
  for i in "$shard_folder"/shard-*.txt; do
    one=$(passed_in "$i")
    passed=$((passed + ${one:-0}))
  done
  all=$(wc -l <"$shard_folder/tests")
  rm -r "$shard_folder"
  echo "$passed of $all tests passed, in $shards processes"
  [ "$all" -gt 0 ] && [ "$passed" -eq "$all" ]
}
part_ops() { run_sharded ops; }
# All 2^32 patterns of float32 to both halves; a minute on the host.
part_conversions() {
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then
    echo "the fakes would convert for hours"
    return "$later"
  fi
  run_tests ops '[.every_float32]'
}
part_k() { run_sharded k; }
part_passes() { run_sharded passes; }
part_rewrite() { run_sharded rewrite; }

# python_version PACKAGE: prints its version, where it is installed.
python_version() {
  "${KILN_GPU_TEST_PYTHON:-python3}" -c "from importlib import metadata
print('python $1:', metadata.version('$1'))" 2>/dev/null
}

part_environment() {
  date -u
  uname -srm
  getconf GNU_LIBC_VERSION
  grep -m 1 'model name' /proc/cpuinfo
  if command -v nvidia-smi >/dev/null; then nvidia-smi; fi
  python_version torch
  python_version jax
  echo "KILN_CUDA_DRIVER=${KILN_CUDA_DRIVER:-}"
  echo "KILN_CUDA_LIBRARIES=${KILN_CUDA_LIBRARIES:-}"
  "$bin/kiln" doctor
  KILN_LOG=info "$bin/kiln" run "$folder/small.kir" --backend cuda || return 1
}

# drawn_digits: prints 60 images that are easily told apart, as lines of 64 pixels and a digit.
drawn_digits() {
  awk 'BEGIN {
    for (i = 0; i < 60; i++) {
      digit = i % 10
      for (pixel = 0; pixel < 64; pixel++) {
        row = int(pixel / 8)
        ink = row == digit % 5 + int(digit / 5) || pixel % 8 == int(digit / 2)
        printf "%d,", ink ? 16 - (i + pixel) % 4 : (i * pixel) % 3
      }
      print digit
    }
  }'
}

# same_losses FILE FILE: whether both have as many losses, equal within a relative error of
# $tolerance or 1e-4.
same_losses() {
  paste <(grep -o 'loss -\?[0-9][^ ]*' "$1") <(grep -o 'loss -\?[0-9][^ ]*' "$2") |
    awk -v bound="${tolerance:-1e-4}" '
      { gap = $2 - $4; most = bound * $2
        if (NF != 4 || gap * gap > most * most) { bad = 1; print "differ:", $0 } }
      END { exit bad || NR == 0 }'
}

# compare_model PROGRAM OPTION...: losses on cuda beside those of its graphs as written.
compare_model() {
  local program=$1
  shift
  echo "== $program $*"
  KILN_DISABLE=all "$bin/$program" --backend reference "$@" >reference.txt || return 1
  "$bin/$program" --backend cuda "$@" >cuda.txt || return 1
  grep loss cuda.txt
  same_losses reference.txt cuda.txt
}

part_models() {
  local status=0
  mkdir -p "$folder/results/models"
  cd "$folder/results/models" || return 1
  drawn_digits >digits.csv
  compare_model char_rnn --text "$folder/LICENSE" --hidden 32 --batch 8 --time 20 --steps 5 ||
    status=1
  compare_model digits_ctc --data digits.csv --batch 2 --steps 2 --units 4 --numbers 4 || status=1
  compare_model digits_cnn --data digits.csv --batch 20 --epochs 1 || status=1
  tolerance=0.02 compare_model mixed_precision --data digits.csv --batch 20 --epochs 1 || status=1
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then return "$status"; fi
  compare_model char_rnn --text "$folder/LICENSE" --steps 3 || status=1
  return "$status"
}

# run_seeds FIRST COUNT: random programs, with the output in one piece.
run_seeds() {
  local output status
  output=$(KILN_RANDOM_PROGRAMS=$1:$2 run_tests random_programs '[seeds]' 2>&1)
  status=$?
  printf 'seeds %s to %s\n%s\n' "$1" $(($1 + $2 - 1)) "$output"
  return "$status"
}

# At least 60 programs; more in three quarters of the part's time. Several processes at a time.
part_random_programs() {
  local first=0 count=20 failed=0 i pids
  while [ "$first" -lt 60 ] || [ "$SECONDS" -lt $((KILN_PART_SECONDS * 3 / 4)) ]; do
    pids=()
    for ((i = 0; i < shards; i++)); do
      run_seeds "$first" "$count" &
      pids+=($!)
      first=$((first + count))
    done
    for i in "${pids[@]}"; do wait "$i" || failed=1; done
    if [ "$failed" -ne 0 ]; then return 1; fi
    if [ -n "${KILN_GPU_TEST_FAKES:-}" ] && [ "$first" -ge 60 ]; then break; fi
  done
}

# Two, three and four ranks on one device, which NCCL allows from version 2.32 on.
part_ranks() {
  local probe
  if ! probe=$("$bin/test_nccl" '[.shares-device]' 2>&1); then
    echo "$probe"
    grep -m 1 '^NCCL rejects: ' <<<"$probe" || return 1
    return "$later"
  fi
  run_tests nccl '[device]'
}

# find_sanitizer: prints the path of compute-sanitizer, where there is one.
find_sanitizer() {
  command -v compute-sanitizer ||
    compgen -G '/usr/local/cuda*/bin/compute-sanitizer' | sort -V | tail -n 1
}

# sanitize_case PROGRAM TOOL CASE: a test case under that tool of the sanitizer; a name that no test
# has is a failure.
sanitize_case() {
  local log=$folder/results/sanitizer-last.txt status
  echo "== $2: $3"
  "$1" --tool "$2" --error-exitcode 1 "$bin/test_ops" "$3" >"$log" 2>&1
  status=$?
  cat "$log"
  [ "$status" -eq 0 ] && grep -q 'All tests passed' "$log"
}

# Test programs drop the variables that they do not know, among them the sanitizer's, unless
# KILN_TEST_ENVIRONMENT is set; then KERAS_BACKEND has to be set here.
part_sanitizer() {
  local sanitizer tool case
  sanitizer=$(find_sanitizer)
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then sanitizer=; fi
  if [ -z "$sanitizer" ]; then
    echo "compute-sanitizer was not found"
    return "$later"
  fi
  export KILN_TEST_ENVIRONMENT=1 KERAS_BACKEND=cuda
  for tool in memcheck racecheck synccheck; do
    for case in "gradients agree with finite differences" "forward values agree with their formulas"
    do
      sanitize_case "$sanitizer" "$tool" "$case" || return 1
    done
  done
}

# bench WORD...: the rows of a GPU, or tiny ones where there is none.
bench() {
  local options=(--seconds 1)
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then options=(--seconds 0 --tiny); fi
  "$bin/kiln" bench --device --backend cuda --threads 1 "${options[@]}" "$@"
}
part_bench() { bench; }

# bench_beside PROGRAM PACKAGE CONDITION ROW...: rows in turn with a Python program's, where the
# package can be imported and the condition holds.
bench_beside() {
  local program=$1 package=$2 condition=$3 python=${KILN_GPU_TEST_PYTHON:-python3}
  shift 3
  if [ -n "${KILN_GPU_TEST_FAKES:-}" ]; then
    echo "the fakes are not timed"
    return "$later"
  fi
  if ! "$python" -c "import $package
raise SystemExit(not ($condition))" 2>/dev/null; then
    echo "$python has no $package that finds the device"
    return "$later"
  fi
  bench --peer "'$python' '$folder/peers/$program' --device cuda" "$@"
}

# Rows whose peer takes longest to compile come last.
part_torch() {
  bench_beside peers.py torch 'torch.cuda.is_available()' matmul matmul_batch \
    matmul_f16 matmul_bf16 mlp_train_mixed conv_train_bf16 \
    attention_train attention_train_bf16 attention_long_bf16 transformer_train \
    transformer_train_bf16 resnet50_train resnet50_train_bf16 \
    lstm_masked_train lstm_train ctc_train cnn_adam resnet_block gather_gradient chain10 \
    chain10_tanh cast broadcast softmax cross_entropy layernorm_train bn_relu_train mlp_adam \
    lnlstm_train
}
part_jax() {
  bench_beside peers_jax.py jax 'jax.devices("cuda")' lstm_masked_train lstm_train \
    lnlstm_train softmax cross_entropy
}

if ! declare -F "part_${1-}" >/dev/null; then
  echo "parts.sh: unknown part '${1-}'" >&2
  exit 2
fi
"part_$1"
