#!/usr/bin/env bash
# Brings everything that titan builds against: distribution packages and LibTorch (unpacked from the torch
# wheel into third_party/, no Python package is installed). Idempotent; run it again after an interruption.
#   TITAN_TORCH_DIR=/path/to/torch   use an existing LibTorch (a folder with include/ and lib/) instead
#   TITAN_PARQUET=0                  leave out Arrow (unpacked from the pyarrow wheel), with which titan reads Parquet
set -euo pipefail
cd "$(dirname "$0")/.."

torch_version=2.15.0
# The CUDA runtime and profiler libraries that libtorch_cpu.so is linked with; versions as torch pins them.
wheels=("torch==$torch_version" "nvidia-cuda-runtime==13.2.86" "nvidia-cuda-cupti==13.2.86")
arrow_wheel="pyarrow==26.0.1"
packages=(build-essential pkg-config cmake ninja-build ccache mold clang-format python3 python3-pip ca-certificates curl
  nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libpcre2-dev libicu-dev libfmt-dev libjemalloc-dev zlib1g-dev libzstd-dev
  libgtest-dev libbenchmark-dev)

step() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || {
    step "not a Debian system; install the equivalents of: ${packages[*]}"
    return 0
  }
  local missing=() p
  for p in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
  done
  if [ ${#missing[@]} -eq 0 ]; then step "distribution packages present"; return 0; fi
  step "installing ${missing[*]}"
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "run as root, or install: ${missing[*]}"
    sudo=(sudo)
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

has_hash() { [ -e "$1" ] && printf '%s  %s\n' "$2" "$1" | sha256sum --check --status; } # file sha256

# pip names the file and its hash, curl fetches it and goes on where an interrupted download stopped.
fetch_wheel() { # name==version -> prints the file's path
  local dir=third_party/downloads url hash file
  read -r url hash < <(python3 -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --report - \
    --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
    --platform manylinux_2_25_x86_64 --platform manylinux_2_28_x86_64 --target "$dir" "$1" |
    python3 -c 'import json, sys; i = json.load(sys.stdin)["install"][0]["download_info"]; print(i["url"], i["archive_info"]["hashes"]["sha256"])')
  [ -n "${hash:-}" ] || fail "pip finds no wheel of $1"
  mkdir -p "$dir"
  file=$dir/${url##*/}
  if [ ! -e "$file" ]; then
    if ! has_hash "$file.part" "$hash"; then
      step "fetching $1" >&2
      curl --fail --silent --show-error --location --retry 5 --continue-at - --output "$file.part" "$url" ||
        fail "the download of $url was interrupted; run this again to go on"
      has_hash "$file.part" "$hash" || {
        rm "$file.part"
        fail "$url has another hash than pip names; run this again to fetch it anew"
      }
    fi
    mv "$file.part" "$file"
  fi
  printf '%s\n' "$file"
}

unpack_torch() {
  local target=third_party/libtorch part=third_party/libtorch.part w file files=()
  if [ "$(cat $target/.titan-complete 2>/dev/null)" = "${wheels[*]}" ]; then
    step "LibTorch $torch_version present"
    return 0
  fi
  for w in "${wheels[@]}"; do
    file=$(fetch_wheel "$w")
    files+=("$file")
  done
  step "unpacking LibTorch $torch_version"
  rm -rf "$part" "$target"
  python3 - "$part" "${files[@]}" <<'PY'
import re, sys, zipfile
keep = re.compile(r"torch/include/|torch/lib/lib(torch_cpu|c10|gomp|gfortran)\.so|nvidia/cu13/lib/lib(cudart|cupti)\.so|"
                  r"(torch|nvidia_[a-z_]+)-[^/]*\.dist-info/.*(LICENSE|License|NOTICE)")
for wheel in sys.argv[2:]:
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            if keep.match(name):
                z.extract(name, sys.argv[1])
PY
  printf '%s' "${wheels[*]}" >"$part/.titan-complete"
  mv "$part" "$target"
  rm -rf third_party/downloads
}

unpack_arrow() {
  local target=third_party/arrow part=third_party/arrow.part file
  if [ "$(cat $target/.titan-complete 2>/dev/null)" = "$arrow_wheel" ]; then
    step "Arrow of $arrow_wheel present"
    return 0
  fi
  file=$(fetch_wheel "$arrow_wheel")
  step "unpacking Arrow of $arrow_wheel"
  rm -rf "$part" "$target"
  python3 - "$part" "$file" <<'PY'
import re, sys, zipfile
keep = re.compile(r"pyarrow/include/|pyarrow/lib(arrow|parquet)\.so\.|pyarrow-[^/]*\.dist-info/licenses/")
with zipfile.ZipFile(sys.argv[2]) as wheel:
    for name in filter(keep.match, wheel.namelist()):
        wheel.extract(name, sys.argv[1])
PY
  printf '%s' "$arrow_wheel" >"$part/.titan-complete"
  mv "$part" "$target"
  rm -rf third_party/downloads
}

[ "$(uname -sm)" = "Linux x86_64" ] || fail "titan builds on Linux x86_64, this is $(uname -sm)"
install_packages
if [ -n "${TITAN_TORCH_DIR:-}" ]; then
  [ -e "$TITAN_TORCH_DIR/include/torch/csrc/api/include/torch/torch.h" ] && [ -e "$TITAN_TORCH_DIR/lib/libtorch_cpu.so" ] ||
    fail "TITAN_TORCH_DIR=$TITAN_TORCH_DIR holds no include/torch and lib/libtorch_cpu.so"
  step "using LibTorch in $TITAN_TORCH_DIR"
else
  unpack_torch
fi
if [ "${TITAN_PARQUET:-1}" != 0 ]; then unpack_arrow; fi
step "done"
