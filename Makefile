# Postern. `make` alone says what there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps build deb demo venv test bench-gate bench bench-authority fleet torture powercut fuzz clean
.ONESHELL:
.SILENT:

PROGRAMS := postern-agent postern-authority postern
# One set of flags for all three, so that what they share is compiled once.
RELEASE := -c release --static-swift-stdlib -Xlinker --icf=safe -Xlinker --no-export-dynamic
# TRAITS=PostgreSQL: an authority that can keep its records there. It needs libpq.
TRAITS :=
FLAGS = $(RELEASE) $(if $(TRAITS),--traits $(TRAITS))
PACKAGES := mosquitto mosquitto-clients libmosquitto-dev libssl-dev libsqlite3-dev \
	libqrencode-dev libtss2-dev pkg-config python3 python3-venv faketime
ifneq ($(TRAITS),)
PACKAGES += libpq-dev
endif
VENV := .venv

# A heading with the time since make began.
ifndef BEGUN
BEGUN := $(shell date +%s)
endif
export BEGUN
heading = printf '\n== %s (%d:%02d)\n' $(1) $$(( ($$(date +%s) - BEGUN) / 60 )) \
	$$(( ($$(date +%s) - BEGUN) % 60 ))

help:
	cat <<-'TEXT'
	make demo         install what is missing, build, and watch a board get its session and use it
	make demo HOLD=1  the same, and everything is left running until ^C
	make test         everything: unit tests, the interoperability tests, the demo
	make bench        the whole pipeline beside a mosquitto bridge; SHORT=1: one small round
	make bench-authority  both stores under load beside an echo in C; SHORT=1: 300 boards
	make fleet        10,000 boards, two authorities and PostgreSQL, each part killed; SHORT=1
	make bench-gate   what a decision and a look into a payload cost
	make fuzz         10 minutes of each fuzzer: SECONDS=n for more, TARGET=payload for one
	make torture      12 minutes of kills, faults, bad networks: SHORT=1, SEED=n, DURABILITY=spill
	make powercut     the power cut at every point of recorded runs: SHORT=1 for a part of them
	make build        the three programs, in release mode; TRAITS=PostgreSQL: with a fleet's store
	make deb          Debian packages of the three, for this machine's architecture, into .build/deb
	make deps         install the Debian packages that are missing
	make venv         a Python environment for the interoperability tests
	make clean        remove what was built
	TEXT

deps:
	missing=
	for package in $(PACKAGES); do
		dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
			|| missing="$$missing $$package"
	done
	if [ -n "$$missing" ]; then
		$(call heading,"installing$$missing")
		command -v apt-get >/dev/null || { echo "this is not Debian: please install$$missing"; exit 1; }
		become=; [ "$$(id -u)" = 0 ] || become=sudo
		$$become apt-get update -q
		$$become env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing
		case "$$missing " in *" mosquitto "*)
			echo "Debian starts the mosquitto service when systemd runs; Postern does not need it";;
		esac
	fi
	command -v swift >/dev/null || { echo "Swift 6.3 or later is needed: https://swift.org/install"; exit 1; }

build: deps
	for program in $(PROGRAMS); do
		$(call heading,"building $$program")
		swift build $(FLAGS) --product $$program
	done

# VERSION=n: another version than the programs', for trying an upgrade.
deb: PACKAGES += debhelper
deb: build
	$(call heading,"the Debian packages")
	exec python3 -B Devices/packages/build $(if $(VERSION),--version $(VERSION)) \
		"$$(swift build $(RELEASE) --show-bin-path)" .build/deb

demo: build
	$(call heading,"the demo")
	exec python3 Devices/simulated/demo $(if $(filter-out 0,$(HOLD)),--hold) "$$(swift build $(RELEASE) --show-bin-path)"

venv: $(VENV)/made

$(VENV)/made: Tests/Browser/requirements.txt Tests/Interop/requirements.txt | deps
	$(call heading,"making $(VENV)")
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# A TPM in software; a broker and a store of another kind; a browser for the console, what makes
# and reads codes beside ours, and clean systems for the packages.
test: PACKAGES += libpq-dev postgresql swtpm libtss2-tcti-swtpm0 rabbitmq-server chromium chromium-driver \
	fonts-dejavu-core qrencode zbar-tools debhelper debootstrap lintian man-db systemd \
	systemd-container strace gcc libc6-dev
test: deps
	exec python3 Tests/run

# A load in C, a certificate, and the size of a stripped program.
bench: PACKAGES += gcc libc6-dev openssl binutils
bench: venv
	swift build $(RELEASE) --product postern-agent
	exec $(VENV)/bin/python3 -B Tests/Benchmarks/Pipeline $(if $(SHORT),--short) \
		--json $(or $(JSON),.build/bench.json) \
		"$$(swift build $(RELEASE) --show-bin-path)/postern-agent"

# An echo in C through the same broker, on the same core.
bench-authority: PACKAGES += gcc libc6-dev util-linux libpq-dev postgresql
bench-authority: TRAITS := PostgreSQL
bench-authority: deps
	for product in postern-authority postern; do
		$(call heading,"building $$product")
		swift build $(FLAGS) --product $$product
	done
	$(call heading,"the authority under load")
	exec python3 -B Tests/Benchmarks/Authority $(if $(SHORT),--short) \
		--json $(or $(JSON),.build/bench-authority.json) \
		"$$(swift build $(FLAGS) --show-bin-path)"

# A database, a broker, two authorities and a fleet; each is killed in turn.
fleet: PACKAGES += libpq-dev postgresql
fleet: TRAITS := PostgreSQL
fleet: venv
	for product in postern-authority postern; do
		$(call heading,"building $$product")
		swift build $(FLAGS) --product $$product
	done
	$(call heading,"the fleet")
	exec $(VENV)/bin/python3 -B Tests/Fleet $(if $(SHORT),--short) $(if $(SEED),--seed $(SEED)) \
		--json $(or $(JSON),.build/fleet.json) "$$(swift build $(FLAGS) --show-bin-path)"

bench-gate:
	swift build $(RELEASE) --product bench-gate
	exec "$$(swift build $(RELEASE) --show-bin-path)/bench-gate" $(if $(SHORT),--short)

fuzz:
	exec python3 Tests/Fuzz/run --seconds $(or $(SECONDS),600) $(TARGET)

# libfiu injects faults of the disk, and a library of the test's own makes it slow.
torture: PACKAGES += fiu-utils gcc libc6-dev
torture: build venv
	$(call heading,"torture")
	exec $(VENV)/bin/python Tests/Torture/run "$$(swift build $(RELEASE) --show-bin-path)" \
		$(if $(SHORT),--short) $(if $(SEED),--seed $(SEED)) $(if $(JSON),--json $(JSON)) \
		$(if $(DURABILITY),--agent POSTERN_OUTBOX_DURABILITY=$(DURABILITY))

# A library of the test's own records, eatmydata switches syncing off, strace shows the order.
powercut: PACKAGES += gcc libc6-dev eatmydata strace
powercut: venv
	for product in postern-agent powercut-store; do
		$(call heading,"building $$product")
		swift build $(RELEASE) --product $$product
	done
	$(call heading,"power cuts")
	exec $(VENV)/bin/python Tests/PowerCut/run $(if $(SHORT),--short) --bin "$$(swift build $(RELEASE) --show-bin-path)"

clean:
	rm -rf .build $(VENV)
