#!/bin/sh
# Runs when the files of the package are in place. Its first argument is "configure" (Debian; the
# second is the previous version, if any), or the number of installed versions (RPM).
set -e

# dpkg sets DPKG_ROOT when it installs into another directory.
root="${DPKG_ROOT:-}"
if [ -n "$root" ]; then
  grep -q '^kairos:' "$root/etc/passwd" ||
    useradd --prefix "$root" --system --user-group --no-create-home --home-dir /var/lib/kairos --shell /usr/sbin/nologin kairos
  exit 0
fi

getent passwd kairos >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/kairos --shell /usr/sbin/nologin kairos

upgrade=no
case "$1" in
  configure) [ -z "$2" ] || upgrade=yes ;;
  1) ;;
  *) upgrade=yes ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ "$upgrade" = yes ]; then
    systemctl try-restart kairosd.service
  fi
fi
if [ "$upgrade" = no ]; then
  cat <<'EOF'
Start kairosd:                  systemctl enable --now kairosd
Show the link of the setup:     journalctl -u kairosd --output cat | grep setup
EOF
fi
