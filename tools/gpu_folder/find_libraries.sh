# Sourced by run: finds the folders of NVRTC, cuBLASLt, cuDNN and NCCL.
# shellcheck shell=bash

# kiln_site_folders: prints the folders of Python packages.
kiln_site_folders() {
  "${KILN_GPU_TEST_PYTHON:-python3}" -c 'import sys
print(*[folder for folder in sys.path if folder.startswith("/")], sep="\n")' 2>/dev/null
}

# kiln_library_folders: prints folders for KILN_CUDA_LIBRARIES: toolkits first, then Python wheels,
# where a folder of packages stands for nvidia/*/lib in it. The backend searches them for each
# library, so that a toolkit's NVRTC and a wheel's cuDNN are both found.
kiln_library_folders() {
  local folder name
  for folder in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 \
    /usr/local/cuda-*/lib64 /opt/cuda/lib64 ${CONDA_PREFIX:+"$CONDA_PREFIX/lib"}; do
    for name in 'libnvrtc.so.1[23]' 'libcublasLt.so.1[23]' libcudnn.so.9 libnccl.so.2; do
      if compgen -G "$folder/$name" >/dev/null; then echo "$folder"; break; fi
    done
  done
  while read -r folder; do
    for name in 'libnvrtc.so.1[23]' 'libcublasLt.so.1[23]' libcudnn.so.9 libnccl.so.2; do
      if compgen -G "$folder/nvidia/*/lib/$name" >/dev/null; then echo "$folder"; break; fi
    done
  done < <(kiln_site_folders)
}

# kiln_find_libraries: sets and exports KILN_CUDA_LIBRARIES unless it is set. Without any folder the
# backend looks in its usual places.
kiln_find_libraries() {
  if [ -z "${KILN_CUDA_LIBRARIES:-}" ]; then
    KILN_CUDA_LIBRARIES=$(kiln_library_folders | paste -s -d :)
  fi
  export KILN_CUDA_LIBRARIES
}
