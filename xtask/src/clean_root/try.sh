# Goes from installation to confirmed bugs, in a fresh Debian (clean_root.rs). Runs as root with -eu.
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
folder=/opt/clean-root

fail() {
    echo "clean root: $*" >&2
    exit 1
}

# Runs a command as the user; it must end with the given status and say the given words.
expect() {
    status=$1 words=$2
    shift 2
    got=0
    runuser -u user -- env PATH="$path" "$@" >/tmp/said 2>&1 || got=$?
    echo "\$ $*"
    sed 's/^/    /' /tmp/said
    test "$got" = "$status" || fail "\`$*\` ended with status $got, not $status"
    test -z "$words" || grep -q "$words" /tmp/said || fail "\`$*\` does not say \"$words\""
}

# The way of a new user, with the installation below the prefix $1.
try() {
    prefix=$1
    home=$(mktemp -d)
    cp -r "$folder/shop" "$prefix/share/doc/foretrace/examples/programs/lost-update" "$home"
    chown -R user "$home"
    cd "$home"
    expect 0 'everything that is needed is there, and works' foretrace doctor
    # The example that the package brings.
    expect 0 '' foretrace cc lost-update/bug.c -o lost
    expect 1 'confirmed by replay' foretrace test -- ./lost
    # A program of the user: it is correct in the recorded run, and only CC is changed.
    expect 0 '' make -C shop CC=clang-19
    expect 0 'sold 6 of 10' ./shop/program
    expect 0 '' make -C shop clean
    expect 0 '' make -C shop CC='foretrace cc'
    expect 1 'stock.left' foretrace test --output html=report.html --output sarif=report.sarif \
        -- ./shop/program
    grep -q 'confirmed by replay' /tmp/said || fail "the bug of the user's program is not confirmed"
    test -s report.html || fail 'no page was written'
    test -s report.sarif || fail 'no SARIF was written'
    cd /
}

apt-get update
apt-get install --yes --no-install-recommends make util-linux
useradd --create-home user

# 1. The Debian package.
apt-get install --yes --no-install-recommends "$folder/foretrace.deb"
path=/usr/bin:/bin
try /usr
for file in bash-completion/completions/foretrace zsh/vendor-completions/_foretrace \
    fish/vendor_completions.d/foretrace.fish; do
    # dpkg may be told to leave documents out, but no completions.
    test -s "/usr/share/$file" || fail "$file is missing"
done
bash -c '. /usr/share/bash-completion/completions/foretrace && complete -p foretrace' \
    || fail 'the completions of bash do not load'
for page in foretrace foretrace-test foretrace-cc; do
    test -s "/usr/share/man/man1/$page.1.gz" || fail "the manual page $page is missing"
done
apt-get remove --yes foretrace
for left in /usr/bin/foretrace /usr/lib/foretrace /usr/include/foretrace; do
    test ! -e "$left" || fail "$left is still there after the package was removed"
done

# 2. The jobs of CI, which install the package themselves.
apt-get install --yes --no-install-recommends python3-yaml
for kind in github gitlab; do
    rm -rf "/opt/$kind"
    cp -r "$folder/shop" "/opt/$kind"
    cd "/opt/$kind"
    apt-get install --yes --no-install-recommends "$folder/foretrace.deb"
    foretrace ci init "$kind"
    apt-get remove --yes foretrace
    got=0
    python3 "$folder/job.py" "$kind" "$(find . -name foretrace.yml)" all \
        FORETRACE_DEB="file://$folder/foretrace.deb" >/tmp/said 2>&1 || got=$?
    tail -n 40 /tmp/said
    test "$got" = 1 || fail "the job of $kind ended with status $got, not 1"
    grep -q 'data race on stock.left' /tmp/said || fail "the job of $kind does not find the bug"
    apt-get remove --yes foretrace
done
cd /

# 3. The archive, beside the compiler that the package has brought.
mkdir /opt/unpacked
tar -C /opt/unpacked -xzf "$folder/foretrace.tar.gz"
prefix=$(echo /opt/unpacked/foretrace-*)
path=$prefix/bin:/usr/bin:/bin
try "$prefix"
echo 'clean root: package and archive work'
