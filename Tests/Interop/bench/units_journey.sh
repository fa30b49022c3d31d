# What a board does in its life, in the machine of test_units_booted.py: each line `name=value`
# is a fact that the test reads; everything else is for a person who looks for a fault.
say() { echo "FACT $1=$2"; }
show() { systemctl show -p "$2" --value "$1"; }
until_so() { # seconds, command
    end=$(($(date +%s) + $1)); shift
    while ! "$@" >/dev/null 2>&1; do
        [ "$(date +%s)" -lt "$end" ] || { echo "waited in vain: $*"; return 1; }
        sleep 0.2
    done
}
is_available() { postern-agent status --json | grep -q '"state":"available"'; }
has_arrived() { postern-agent status --json | grep -q '"messages":0' &&
    postern-agent status --json | grep -q "\"lastSequence\":$1"; }
restarted() { [ "$(show "$1" NRestarts)" -ge 1 ] && [ "$(show "$1" ActiveState)" = active ]; }
PATH=/postern/bin:$PATH

# There is no network to wait for.
systemctl mask --runtime systemd-networkd-wait-online.service
mkdir -p -m 755 /etc/postern
cp /postern/etc/*.toml /etc/postern/
chgrp postern /etc/postern/agent.toml; chmod 640 /etc/postern/agent.toml
chgrp postern-authority /etc/postern/authority.toml; chmod 640 /etc/postern/authority.toml
printf 'allow_anonymous true\nlistener 1883 127.0.0.1\nuser root\n' >/run/bus.conf
systemd-run -q --unit=bus /usr/sbin/mosquitto -c /run/bus.conf
echo correct-horse-battery >/run/password; chmod 600 /run/password
cp /run/password /run/init-password; chmod 600 /run/init-password
chown postern-authority /run/init-password
systemd-run -q --wait --pipe -p User=postern-authority -p StateDirectory=postern-authority \
    -p StateDirectoryMode=0700 \
    /postern/bin/postern-authority init --admin ada --password-file /run/init-password
systemctl start postern-authority; say authority "$(show postern-authority ActiveState)"
systemctl start postern-agent; say agent "$(show postern-agent ActiveState)"
say credentials "$(ls /run/credentials/postern-agent.service 2>/dev/null)"
pid=$(show postern-agent MainPID)
say user "$(stat -c %U "/proc/$pid")"
say state_mode "$(stat -c %a /var/lib/postern)"
say seccomp "$(grep Seccomp: "/proc/$pid/status" | tr -dc 0-9)"
say capabilities "$(sed -n "s/^CapEff:[^0-9a-f]*//p" "/proc/$pid/status")"
postern --authority http://127.0.0.1:8080 login --username ada --password-file /run/password
url=$(postern-agent pair --json | sed 's/.*"url":"\([^"]*\)".*/\1/')
postern --authority http://127.0.0.1:8080 claim "$url" --json >/dev/null
until_so 60 is_available; say paired $?
is_available || { journalctl -u postern-agent -u postern-authority -u bus --no-pager; exit 1; }
for n in 1 2 3; do
    mosquitto_pub -h 127.0.0.1 -V 5 -q 1 -t postern/app/thermo/create/Reading -m "{\"n\":$n}"
done
until_so 60 has_arrived 3; say forwarded $?
until_so 60 sh -c 'systemctl show -p StatusText postern-agent | grep -q "; 0 waiting; uplink connected"'
say status "$(show postern-agent StatusText)"
until_so 60 sh -c 'systemctl show -p StatusText postern-authority | grep -q "1 of 1"'
say authority_status "$(show postern-authority StatusText)"

# Longer than three intervals of the watchdog: nobody is ended for being idle.
sleep 25
say idle "$(show postern-agent NRestarts) $(show postern-authority NRestarts)"

kill -STOP "$(show postern-agent MainPID)"
kill -STOP "$(show postern-authority MainPID)"
until_so 60 restarted postern-agent; say agent_restarted $?
until_so 60 restarted postern-authority; say authority_restarted $?
journalctl -u postern-agent -u postern-authority | grep -c "Watchdog timeout" | {
    read -r count; say watchdogs "$count"; }
until_so 60 is_available; say still_paired $?

# More crashes, one after the other, than any start limit would let pass.
is_another() { pid=$(show postern-agent MainPID); [ "$pid" != 0 ] && [ "$pid" != "$killed" ]; }
killed=
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    until_so 60 is_another || break
    killed=$pid
    kill -KILL "$killed"
done
# systemd may not have noticed the last kill yet.
until_so 60 is_another
until_so 60 sh -c 'systemctl is-active postern-agent' && is_available; say after_crashes $?

systemctl stop postern-agent; say stopped "$(show postern-agent Result)"
echo 'nonsense = 1' >>/etc/postern/agent.toml
systemctl reset-failed postern-agent
systemctl start postern-agent
sleep 4
say refused "$(show postern-agent ExecMainStatus) $(show postern-agent NRestarts)" 
say refused_state "$(show postern-agent ActiveState)"

sed -i '/nonsense/d' /etc/postern/agent.toml
rm -rf /var/lib/postern/*
mkdir -p /etc/credstore.encrypted
head -c 32 /dev/urandom | systemd-creds encrypt --with-key=host --name=postern.storage-key - \
    /etc/credstore.encrypted/postern.storage-key
systemctl reset-failed postern-agent; systemctl start postern-agent
say with_credential "$(show postern-agent ActiveState)"
say credential "$(ls /run/credentials/postern-agent.service 2>/dev/null)"

# The master key as a credential, by the lines of REPLICAS.md: the unit has it, a command by hand
# says how it is run.
systemctl stop postern-authority
systemd-creds encrypt --with-key=host --name=postern.master-key \
    /var/lib/postern-authority/authority.key /etc/credstore.encrypted/postern.master-key
rm /var/lib/postern-authority/authority.key
sed -i '1i master_key_file = "credential:postern.master-key"' /etc/postern/authority.toml
given=LoadCredentialEncrypted=postern.master-key:/etc/credstore.encrypted/postern.master-key
mkdir -p /run/systemd/system/postern-authority.service.d
printf '[Service]\n%s\n' "$given" >/run/systemd/system/postern-authority.service.d/key.conf
systemctl daemon-reload
systemctl start postern-authority; say with_master_key "$(show postern-authority ActiveState)"
say by_hand "$(postern-authority user list 2>&1 | grep -c "systemd-run --pipe --wait --collect")"
say by_unit "$(systemd-run -q --pipe --wait --collect -p User=postern-authority -p "$given" \
    /postern/bin/postern-authority user list | grep -c ada)"
systemctl status postern-agent postern-authority --no-pager
journalctl -u postern-agent -u postern-authority --no-pager
