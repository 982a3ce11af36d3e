#!/bin/sh
# Runs before the files of the package are removed. An upgrade has "upgrade" (Debian) or a number
# above 0 (RPM) as its first argument, and restarts the service later.
set -e
case "$1" in
  remove | 0) ;;
  *) exit 0 ;;
esac
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now kairosd.service
fi
