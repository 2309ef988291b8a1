# Sourced by run: finds the folders of NVRTC, which hold cuBLASLt, too, where it is installed.
# shellcheck shell=bash

# kiln_site_folders: prints the folders of Python packages.
kiln_site_folders() {
  "${KILN_GPU_TEST_PYTHON:-python3}" -c 'import sys
print(*[folder for folder in sys.path if folder.startswith("/")], sep="\n")' 2>/dev/null
}

# kiln_nvrtc_folders: prints folders for KILN_CUDA_LIBRARIES: toolkits first, then Python wheels,
# where a folder of packages stands for nvidia/*/lib in it.
kiln_nvrtc_folders() {
  local folder
  for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 \
    /usr/local/cuda-*/lib64 /opt/cuda/lib64 ${CONDA_PREFIX:+"$CONDA_PREFIX/lib"}; do
    if compgen -G "$folder/libnvrtc.so.1[23]" >/dev/null; then echo "$folder"; fi
  done
  while read -r folder; do
    if compgen -G "$folder/nvidia/*/lib/libnvrtc.so.1[23]" >/dev/null; then echo "$folder"; fi
  done < <(kiln_site_folders)
}

# kiln_find_libraries: sets and exports KILN_CUDA_LIBRARIES unless it is set. Without any folder the
# backend looks in its usual places.
kiln_find_libraries() {
  if [ -z "${KILN_CUDA_LIBRARIES:-}" ]; then
    KILN_CUDA_LIBRARIES=$(kiln_nvrtc_folders | paste -s -d :)
  fi
  export KILN_CUDA_LIBRARIES
}
