# Sourced by the scripts beside it: help, packages and the build.
kiln_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# kiln_help [ARGUMENT...]: where -h or --help is among the arguments, prints the comment at the head
# of the running script and exits with status 0.
kiln_help() {
  local argument
  for argument in "$@"; do
    case $argument in
      -h | --help)
        awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$kiln_root/tools/${0##*/}"
        exit 0
        ;;
    esac
  done
}

# kiln_packages PURPOSE: prints the packages that third_party/debian-packages.txt lists for it.
kiln_packages() {
  awk -v purpose="$1" '$1 == purpose {print $2}' "$kiln_root/third_party/debian-packages.txt"
}

# kiln_require_packages PURPOSE: installs its missing packages if allowed, else prints the command
# that does and exits with status 1.
kiln_require_packages() {
  local missing=() name names
  names=$(kiln_packages "$1") || return
  for name in $names; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' ||
      missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
      echo "Kiln needs packages that are not installed. Run:" >&2
      echo "  sudo apt-get install -y ${missing[*]}" >&2
      exit 1
    fi
    sudo=(sudo -n)
  fi
  echo "installing ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  if ! "${sudo[@]}" apt-get install -y -q "${missing[@]}" >/dev/null 2>&1; then
    "${sudo[@]}" apt-get update -q >/dev/null
    "${sudo[@]}" apt-get install -y -q "${missing[@]}" >/dev/null
  fi
}

# kiln_build PRESET [TARGET...]: configures once, builds what changed, prints to standard error.
kiln_build() {
  local preset=$1 directory=build
  shift
  # One cache serves checkouts in several places, since sources and groups of them are named
  # relative to the project. It caches what includes precompiled headers only with this sloppiness,
  # as it cannot see whether they use __TIME__ or macros of the source.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
  export CCACHE_DEPEND=1  # reads the compiler's list of headers instead of preprocessing first
  [ "$preset" = release ] || directory=build/$preset
  if [ ! -f "$directory/build.ninja" ]; then cmake --preset "$preset" >&2; fi
  cmake --build "$directory" ${*:+--target "$@"} >&2
}
