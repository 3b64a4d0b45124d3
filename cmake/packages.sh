# Debian packages, for quickstart, test and .ci/run (sourced). Debian 12.
build_packages="g++ cmake ninja-build ccache mold pkg-config libboost1.81-dev nlohmann-json3-dev libre2-dev
  libsqlite3-dev libspdlog-dev libfmt-dev doctest-dev libyaml-cpp-dev libzstd-dev libssl-dev
  libcli11-dev python3"
test_packages="python3-torch sqlite3 procps systemd libbenchmark-dev libfaketime"
ci_packages="clang-16 libclang-rt-16-dev clang-format-14"

# need_packages NAME...: installs those that are missing; without the right to, says which and exits 1.
need_packages() {
  missing=
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  as_root=
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
      as_root=sudo
    else
      echo "Missing Debian packages:$missing" >&2
      echo "Install them as root, then run this again:  apt-get install$missing" >&2
      exit 1
    fi
  fi
  echo "Installing$missing"
  log=$(mktemp)
  if ! { $as_root apt-get update -qq &&
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "apt-get could not install:$missing" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
}
