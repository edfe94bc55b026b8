# Shared by the scripts: where the tree is, how they say that something went wrong, how they build.
# Sourced, not run.
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)
me=scripts/${0##*/}

# die WHAT...: one line, exit code 1.
die() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 1
}

# usage_error WHAT...: one line, exit code 2.
usage_error() {
  printf '%s: %s\n' "$me" "$*" >&2
  exit 2
}

# print_help: the comment at the head of the script itself.
print_help() {
  sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//p}' "$0"
}

# quietly WHAT COMMAND...: runs it; what it prints is shown only if it fails, before "WHAT failed".
quietly() {
  local what=$1 output
  shift
  output=$("$@" 2>&1) || {
    printf '%s\n' "$output" >&2
    die "$what failed"
  }
}

# set_up FOLDER AT_FIRST... -- OPTION...: makes FOLDER a build folder. The arguments of meson before
# the -- are for a new folder; the options after it are set in an old one as well, which otherwise
# keeps what was set before. What is set already costs no new configuration.
set_up() {
  local dir=$1 stamp=$1/uroce-options option at_first=() missing=()
  shift
  while [[ $1 != -- ]]; do
    at_first+=("$1")
    shift
  done
  shift
  if ! command -v meson >/dev/null || ! command -v ninja >/dev/null; then
    die "meson or ninja is missing; scripts/deps installs what a build needs"
  fi
  if [[ ! -f $dir/build.ninja ]]; then
    quietly "setting up ${dir#"$root"/}/" meson setup "$dir" "$root" "${at_first[@]}" "$@"
    missing=("$@")
  else
    for option in "$@"; do
      grep -qxFe "$option" "$stamp" 2>/dev/null || missing+=("$option")
    done
    ((${#missing[@]})) || return 0
    quietly "configuring ${dir#"$root"/}/" meson configure "$dir" "${missing[@]}"
    quietly "configuring ${dir#"$root"/}/" ninja -C "$dir" build.ninja --quiet
  fi
  touch -- "$stamp"
  for option in "${missing[@]}"; do
    sed -i "/^${option%%=*}=/d" "$stamp"
    printf '%s\n' "$option" >>"$stamp"
  done
}

# compile FOLDER: brings it up to date; silent unless a person watches or it fails.
compile() {
  local command=(ninja -C "$1" ${BUILD_JOBS:+"-j$BUILD_JOBS"}) what="building ${1#"$root"/}/"
  if [[ -t 1 ]]; then
    "${command[@]}" || die "$what failed"
  else
    quietly "$what" "${command[@]}" --quiet
  fi
}
