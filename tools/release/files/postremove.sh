#!/bin/sh
# Runs after the files of the package are removed. The data and its user stay: they are removed by hand.
set -e
if [ -n "${DPKG_ROOT:-}" ]; then
  exit 0
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
if [ "$1" = purge ] && [ -d /var/lib/kairos ]; then
  echo "The runs and plans of kairosd are still in /var/lib/kairos. Remove them with: rm -r /var/lib/kairos"
fi
