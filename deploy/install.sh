#!/bin/sh
# Installs Windlass from its package for Linux, or changes to another version of it:
#   sudo sh install.sh windlass-0.1.0-linux-x64.tar.gz
# 1. Verifies the package with SHA256SUMS beside it.
# 2. Unpacks it beside earlier versions, such as /opt/windlass-0.1.0-linux-x64, and tries it.
# 3. Lets the links /opt/windlass and /usr/local/bin/windlass lead to it.
# It removes nothing, so what runs keeps its files, and the package of an earlier version leads back to that. It starts and restarts nothing.
# PREFIX=DIR writes below DIR.
set -eu
umask 022
fail() {
  echo "install.sh: $*" >&2
  exit 1
}

package=${1-}
[ -f "$package" ] || fail "no such package: \"$package\". Usage: sh install.sh windlass-VERSION-linux-x64.tar.gz"
cd "$(dirname "$package")"
package=${package##*/}
name=${package%.tar.gz}
case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
case $name in *-linux-"$arch") ;; *) fail "$package is not for this machine (linux-$arch)" ;; esac

[ -f SHA256SUMS ] || fail "SHA256SUMS is not beside $package: nothing was installed"
sum=$(awk -v file="$package" '$2 == file' SHA256SUMS)
echo "$sum" | sha256sum --check --strict --quiet - || fail "$package is not what SHA256SUMS names: nothing was installed"

opt=${PREFIX-}/opt
target=$opt/$name
mkdir -p "$opt" "${PREFIX-}/usr/local/bin"
[ -L "$opt/windlass" ] || [ ! -e "$opt/windlass" ] || fail "$opt/windlass is not a link of this script: move it away first"
if [ -e "$target" ]; then
  [ "$(cat "$target/SHA256SUM")" = "$sum" ] || fail "$target is another build of this version: remove it first, when nothing of it runs"
else
  new=$(mktemp -d "$opt/.windlass-XXXXXX")
  trap 'rm -rf "$new"' EXIT
  tar -xzf "$package" -C "$new" --no-same-owner
  echo "$sum" >"$new/$name/SHA256SUM"
  "$new/$name/bin/windlass" --version >"$new/version" || fail "this machine cannot run it: nothing was installed"
  mv "$new/$name" "$target"
fi

# Replaced at once, so that no moment is without a link.
ln -s "$name" "$opt/.windlass-link-$$"
mv -T "$opt/.windlass-link-$$" "$opt/windlass"
[ -e "${PREFIX-}/usr/local/bin/windlass" ] || ln -sf "$opt/windlass/bin/windlass" "${PREFIX-}/usr/local/bin/windlass"
"$opt/windlass/bin/windlass" version
echo "Services that run continue with the version with which they were started. To change them: systemctl restart windlass-server, then windlass-agent."
