#!/bin/bash
# Tries the Debian packages in a throw-away copy of this system (an overlay; nothing of it stays): install,
# units, start of the very command lines as the services' users, upgrade over data, removal, purge.
#
#   tests/package_test.sh [BUILD-DIR]     default build/release; makes the packages with cpack
#
# Needs root, dpkg and the right to mount; says so and ends with 77 when it cannot run. Last line: N passed, N failed.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${1:-$here/build/release}")
passed=0 failed=0
note() {
  if [ "$2" -eq 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi
}
check() { local what=$1; shift; "$@" >"$work/out" 2>&1; local got=$?; [ $got -eq 0 ] || tail -20 "$work/out"; note "$what" $got; }
skip() { echo "skipped: $1"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v dpkg-deb >/dev/null || skip "needs dpkg"
if [ "${LGR_PACKAGE_NAMESPACE:-}" != 1 ]; then
  unshare --mount true 2>/dev/null || skip "needs the right to mount"
  LGR_PACKAGE_NAMESPACE=1 exec unshare --mount --propagation private "$0" "$build"
fi

work=$(mktemp -d /tmp/lgr-package.XXXXXX)
mount -t tmpfs -o size=1g tmpfs "$work" || skip "cannot mount a tmpfs"
mkdir -p "$work"/{upper,inner,root,debs}
mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/inner" overlay "$work/root" || skip "no overlay here"
root=$work/root
mount --bind /dev "$root/dev"
mount --bind /proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"   # no /run/systemd/system: an image, not a running system
mount -t tmpfs tmpfs "$root/tmp"
trap 'kill $(jobs -p) 2>/dev/null; umount -R "$root" 2>/dev/null; umount "$work" 2>/dev/null; rmdir "$work"' EXIT
in_root() { chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }

# ---- packages
(cd "$build" && nice -n 10 cpack -G DEB -B "$work/debs" >"$work/cpack.log" 2>&1) || tail -20 "$work/cpack.log"
debs=("$work"/debs/*.deb)
note "three packages" $([ ${#debs[@]} -eq 3 ]; echo $?)
[ "$failed" -eq 0 ] || { echo "$passed passed, $failed failed"; exit 1; }
mkdir -p "$root/packages" && cp "${debs[@]}" "$root/packages/"
for deb in "${debs[@]}"; do
  name=$(dpkg-deb -f "$deb" Package)
  echo "     $name $(dpkg-deb -f "$deb" Version) $(stat -c %s "$deb") bytes, depends: $(dpkg-deb -f "$deb" Depends)"
  dpkg-deb -c "$deb" | awk '{print $6}' >"$work/$name.list"
done
check "the agent's files are where the unit looks" grep -qx ./usr/bin/logarithm-agent "$work/logarithm-agent.list"
check "its unit" grep -Eqx './(usr/)?lib/systemd/system/logarithm-agent.service' "$work/logarithm-agent.list"
check "its configuration" grep -qx ./etc/logarithm/agent.yaml "$work/logarithm-agent.list"
check "the aggregator's configuration" grep -qx ./etc/logarithm/aggregator.yaml "$work/logarithm-aggregator.list"
check "the command line" grep -qx ./usr/bin/logarithm "$work/logarithm.list"

# ---- install
check "install" in_root sh -c 'dpkg -i /packages/*.deb'
check "users" in_root sh -c 'getent passwd logarithm-agent && getent passwd logarithm'
check "the configuration is not for everybody" in_root sh -c '[ "$(stat -c %a:%G /etc/logarithm/agent.yaml)" = 640:logarithm-agent ]'
check "enabled for the next boot" in_root sh -c 'ls /etc/systemd/system/multi-user.target.wants/logarithm-agent.service /etc/systemd/system/multi-user.target.wants/logarithm-aggregator.service'
check "units verify" in_root systemd-analyze verify logarithm-agent.service logarithm-aggregator.service
for program in logarithm-agent logarithm-aggregator; do
  check "$program --check-config of the installed file" in_root /usr/bin/$program --config "/etc/logarithm/${program#logarithm-}.yaml" --check-config
done

# ---- the units' command lines as the services' users; the ports are moved, others may have them here
command_of() { sed -n 's/^ExecStart=//p' "$root"/{usr/lib,lib}/systemd/system/$1.service 2>/dev/null | head -1; }
sed -i 's/^listen: .*/listen: 127.0.0.1:0/; s#^ready_file: .*#ready_file: /var/lib/logarithm/ready#; s/^  min_free: 2GiB/  min_free: 1MiB/' "$root/etc/logarithm/aggregator.yaml"
# In the background: the program itself is then the job, not a shell around it.
as_user() {
  local user=$1; shift
  exec chroot "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}
start_aggregator() {
  as_user logarithm $(command_of logarithm-aggregator) >>"$work/aggregator.log" 2>&1 &
  for _ in $(seq 100); do [ -s "$root/var/lib/logarithm/ready" ] && break; sleep 0.1; done
  address=$(cat "$root/var/lib/logarithm/ready" 2>/dev/null)
}
start_aggregator; aggregator=$!
note "the aggregator serves as its user" $([ -n "$address" ]; echo $?)
mkdir -p "$root/var/log/lgr-try" && seq -f 'line %g of the packages' 100 >"$root/var/log/lgr-try/rank-0.log"
cat >"$root/etc/logarithm/agent.yaml" <<END
aggregator: ws://$address
metrics: off
discover: {processes: false, kernel_log: false}
spool: {min_free: 1MiB}
files: [{glob: /var/log/lgr-try/*.log, job: packages}]
END
as_user logarithm-agent $(command_of logarithm-agent) >>"$work/agent.log" 2>&1 & agent=$!
count() { in_root /usr/bin/logarithm query packages --server "http://$address" --limit 1000 2>/dev/null | wc -l; }
for _ in $(seq 100); do [ "$(count)" -ge 100 ] && break; sleep 0.1; done
note "lines go from the agent to the question" $([ "$(count)" -eq 100 ]; echo $?)
kill -TERM $agent; wait $agent; note "the agent stops cleanly" $?
kill -TERM $aggregator; wait $aggregator; note "the aggregator stops cleanly" $?

# ---- upgrade over that data: the same packages with a higher version
mkdir "$work/newer"
for deb in "${debs[@]}"; do
  dpkg-deb -R "$deb" "$work/newer/x" && sed -i 's/^Version: .*/Version: 99.0/' "$work/newer/x/DEBIAN/control"
  dpkg-deb --root-owner-group -b "$work/newer/x" "$root/packages/newer-$(dpkg-deb -f "$deb" Package).deb" >/dev/null
  rm -rf "$work/newer/x"
done
check "upgrade" in_root sh -c 'dpkg --force-confold -i /packages/newer-*.deb'
check "the edited configuration stays" grep -q lgr-try "$root/etc/logarithm/agent.yaml"
rm -f "$root/var/lib/logarithm/ready"
start_aggregator; aggregator=$!
note "the data of the former version is served" $([ "$(count)" -eq 100 ]; echo $?)
kill -TERM $aggregator; wait $aggregator

# ---- removal keeps what was stored, purge does not
check "remove" in_root dpkg -r logarithm-agent logarithm-aggregator logarithm
check "removed: the data stays" in_root sh -c '[ -e /var/lib/logarithm/aggregator/catalogue.db ] && [ -e /etc/logarithm/agent.yaml ] && [ ! -e /usr/bin/logarithm-agent ]'
check "purge" in_root dpkg -P logarithm-agent logarithm-aggregator logarithm
check "purged: nothing is left" in_root sh -c '[ ! -e /var/lib/logarithm ] && [ ! -e /var/lib/logarithm-agent ] && [ ! -e /etc/logarithm ] && ! getent passwd logarithm-agent && ! getent passwd logarithm'

if [ "$failed" -gt 0 ]; then tail -n 5 "$work"/*.log; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
