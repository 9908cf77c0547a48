# Sourced by the other scripts: installing Debian packages where we may.

# Install packages by apt-get. Returns 1 where this is not Debian, or where we may not.
debian_install() {
    local as_root=()
    command -v apt-get >/dev/null || return 1
    if [[ $(id -u) -ne 0 ]]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        # sudo drops the environment, and with it the setting that keeps dpkg from asking.
        as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    fi
    echo "Installing $* with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    # The lists may be missing or too old for the mirror: refresh them only where it does not work.
    if ! "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get update -qq >/dev/null &&
            "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    fi
}
