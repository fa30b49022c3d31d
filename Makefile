# Postern. `make` without a target lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps build sdk-arm64 test-arm64 debug deb release wheel docs demo try cards venv test test-all bench-gate bench \
	bench-authority bench-data bench-data-path fleet kills torture powercut fuzz screenshot icons clean
.ONESHELL:
.SILENT:

# Tests and demo use the debug build. It is set up to build fast: no index for editors, which would
# take a third of the time, no debug information, and each module compiled as a whole.
DEBUG := --disable-index-store -debug-info-format none \
	-Xswiftc -whole-module-optimization -Xswiftc -num-threads -Xswiftc 1
export DEBUG
# What is shipped and measured uses the release build, without debug information, too.
# Swift's runtime is partly C++. A folder with nothing but the archive has the linker take that, so
# that no board needs libstdc++.
ARCHIVES := $(CURDIR)/.build/archives
# ARCH=arm64: built on amd64, with the Swift SDK that `make sdk-arm64` makes once.
ifeq ($(ARCH),$(shell dpkg --print-architecture 2>/dev/null))
override ARCH :=
else ifeq ($(ARCH),arm64)
ARM64_SDK := $(shell Devices/arm64/sdk --folder)
ARCHIVES := $(ARM64_SDK)/archives
CROSS := --swift-sdks-path $(ARM64_SDK)/sdk --swift-sdk postern-arm64 --scratch-path .build/arm64 \
	--pkg-config-path $(ARM64_SDK)/sysroot/usr/lib/aarch64-linux-gnu/pkgconfig
export PATH := $(ARM64_SDK)/bin:$(PATH)
else ifneq ($(ARCH),)
$(error ARCH is arm64, or absent for this machine: $(ARCH) is not known)
endif
# Two builds of one commit give the same bytes; Devices/release/README.md has the exception. Swift's
# own unrolling of loops orders their results by addresses, which differ in each run; LLVM's is left.
SAME_BYTES := -Xcc -ffile-prefix-map=$(CURDIR)=. -Xswiftc -file-prefix-map -Xswiftc $(CURDIR)=. \
	-Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen -Xlinker --strip-debug \
	-Xswiftc -Xllvm -Xswiftc -sil-disable-pass=loop-unroll
RELEASE := -c release --static-swift-stdlib --disable-local-rpath -debug-info-format none \
	-Xlinker --icf=safe -Xlinker --no-export-dynamic -Xlinker -L$(ARCHIVES) $(SAME_BYTES) $(CROSS)
# Where the programs are; SwiftPM is asked once, and only if a target needs it.
BIN = $(eval BIN := $$(shell swift build $(RELEASE) --show-bin-path))$(BIN)
DEBUG_BIN = $(eval DEBUG_BIN := $$(shell swift build $(DEBUG) --show-bin-path))$(DEBUG_BIN)

PACKAGES := mosquitto mosquitto-clients libmosquitto-dev libssl-dev libsqlite3-dev libpq-dev \
	libcurl4-openssl-dev libqrencode-dev libtss2-dev g++ pkg-config python3 python3-venv faketime
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
	make demo         install missing packages, build, and watch a board get and use its session
	make demo HOLD=1  the same, and keep everything running until ^C
	make try          an authority, a board and an app on this machine, to play with until ^C;
	                  SECONDS=n ends it after that time
	make cards        ten boards from flashed cards, each in a network namespace; needs root or user
	                  namespaces; CARDS=n, AUTO=1
	make test         unit tests, agent and authority in virtual time, interoperability, the demo
	make test FILTER=name  the suites and files with that name; Tests/README.md lists them
	make test-all     make test, and everything else that can be tested on one machine
	make bench        compare the whole pipeline with a mosquitto bridge; SHORT=1: one small round
	make bench-authority  both stores under load, and an echo in C; SHORT=1: 300 boards
	make fleet        10,000 boards, two authorities and PostgreSQL; kills each part; SHORT=1
	make bench-data-path  a board's data through mosquitto into the store; SHORT=1: 20,000 records
	make bench-gate   the cost of a decision and of reading a payload
	make bench-data   records a second of both stores, bytes a record, plots; SHORT=1: a fraction
	make fuzz         10 minutes of each fuzzer; SECONDS=n for more, TARGET=payload for one
	make torture      12 minutes of kills, faults, bad networks; SHORT=1, SEED=n, DURABILITY=spill
	make kills        200 kills of agent, bus and app while an app writes, in Python and in Swift;
	                  KILLS=n for another number
	make powercut     cut the power at every point of recorded runs; SHORT=1: only some points
	make build        build the three programs in release mode
	make deb          make Debian packages of the three programs, in .build/deb
	make release      the packages of both architectures as an apt repository, in dist;
	                  SIGN_KEY=key signs it, ARCHS=amd64 is for one architecture only
	make wheel        the wheel of the Python library, in dist
	make docs         the pages of the Swift libraries as web pages, in dist/docs
	make build ARCH=arm64  build for arm64; also make deb ARCH=arm64: Devices/arm64/README.md
	make sdk-arm64    make the SDK for arm64, once: 850 MB of downloads, 10 minutes, 3 GB of disk
	make test-arm64   unit tests, the demo and power cuts of the arm64 programs, in qemu
	make deps         install the missing Debian packages
	make screenshot   make the README's picture of the console with the browser tests
	make icons        make the page's icons from its icon.svg
	make venv         make a Python environment for the tests in Python
	make clean        remove all build results
	TEXT

deps:
	missing=
	for package in $(PACKAGES); do
		dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' \
			|| missing="$$missing $$package"
	done
	if [ -n "$$missing" ]; then
		$(call heading,"installing$$missing")
		command -v apt-get >/dev/null || { echo "this is not Debian: install these packages yourself:$$missing"; exit 1; }
		become=; [ "$$(id -u)" = 0 ] || become=sudo
		$$become apt-get update -q
		$$become env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing
		case "$$missing " in *" mosquitto "*)
			echo "Debian starts the mosquitto service when systemd runs; Postern does not need it";;
		esac
	fi
	command -v swift >/dev/null || { echo "Swift 6.3 or later is needed: https://swift.org/install"; exit 1; }

ifeq ($(ARCH),arm64)
build: PACKAGES += binutils
build: sdk-arm64
	$(call heading,"the release build for arm64")
	swift build $(RELEASE)
	Devices/arm64/check $(addprefix "$(BIN)"/,postern-agent postern-authority postern)
else
build: deps
	$(call heading,"the release build")
	mkdir -p $(ARCHIVES)
	ln -sfn "$$(gcc -print-file-name=libstdc++.a)" $(ARCHIVES)/libstdc++.a
	swift build $(RELEASE)
endif

# SWIFT_ARM64=folder: an unpacked official toolchain for aarch64 instead of Debian's libraries.
export SWIFT_ARM64 DEBIAN_MIRROR POSTERN_CACHE
sdk-arm64: deps
	Devices/arm64/sdk

# The programs of the cross build, in qemu-user.
test-arm64: PACKAGES += binutils eatmydata strace swtpm
test-arm64: deps venv
	$(MAKE) --no-print-directory build ARCH=arm64
	exec $(VENV)/bin/python Tests/ARM64/run $(if $(FILTER),--part '$(FILTER)')

debug: deps
	$(call heading,"the debug build")
	swift build $(DEBUG)

# VERSION=n: a version other than the programs', to test an upgrade.
deb: PACKAGES += debhelper
deb: build
	$(call heading,"the Debian packages")
	# Programs for this machine's architecture print the manual pages and completions.
	$(if $(ARCH),$(MAKE) --no-print-directory build ARCH=)
	exec python3 -B Devices/packages/build $(if $(VERSION),--version $(VERSION)) \
		$(if $(ARCH),--arch $(ARCH) --sdk "$(ARM64_SDK)" --host-programs .build/release) \
		"$(BIN)" .build/deb$(ARCH:%=-%)

# An apt repository, a tarball for boards without dpkg, and a list of their contents.
# SIGN_KEY: a gpg key's id, or a file with the secret key.
ARCHS := amd64 arm64
release: PACKAGES += dpkg-dev gnupg
release: deps $(ARCHS:%=deb-%)
	$(call heading,"the release")
	exec python3 -B Devices/release/assemble $(if $(SIGN_KEY),--sign-key "$(SIGN_KEY)") dist \
		$(patsubst %-$(shell dpkg --print-architecture),%,$(ARCHS:%=.build/deb-%))

# The same bytes each time; SOURCE_DATE_EPOCH is the time of its files, else the changelog's.
wheel: deps
	$(call heading,"the wheel")
	exec python3 -B Devices/release/python_wheel.py dist

# The pages of each library with a DocC catalogue; a warning is an error. A web server shows them.
docs: deps
	$(call heading,"the pages of the Swift libraries")
	exec python3 -B Devices/release/swift_docs.py dist/docs

deb-%:
	$(MAKE) --no-print-directory deb ARCH=$*

# The demo uses the debug build, as `make test` does.
demo: debug
	$(call heading,"the demo")
	exec python3 Devices/simulated/demo $(if $(filter-out 0,$(HOLD)),--hold) "$(DEBUG_BIN)"

try: debug
	$(call heading,"an authority and a board")
	exec python3 Devices/simulated/demo/tryout.py $(if $(SECONDS),--seconds $(SECONDS)) "$(DEBUG_BIN)"

cards: debug
	$(call heading,"boards from flashed cards")
	exec python3 Devices/simulated/demo/cards.py $(if $(CARDS),--cards $(CARDS)) \
		$(if $(filter-out 0,$(AUTO)),--auto-accept) "$(DEBUG_BIN)"

venv: $(VENV)/made

$(VENV)/made: Tests/Browser/requirements.txt Tests/Interop/requirements.txt \
		Tests/Packages/requirements.txt | deps
	$(call heading,"making $(VENV)")
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $< -r Tests/Packages/requirements.txt
	touch $@

# A software TPM, another broker and another store, and a compiler for the tests' C.
TEST_PACKAGES := postgresql swtpm libtss2-tcti-swtpm0 rabbitmq-server openssl systemd strace gcc libc6-dev
# A browser for the console, and tools to test the packages in clean systems.
ALL_PACKAGES := $(TEST_PACKAGES) chromium chromium-driver \
	debhelper debootstrap lintian man-db systemd-container gnupg fiu-utils eatmydata util-linux binutils

test: PACKAGES += $(TEST_PACKAGES)
test: deps
	exec python3 Tests/run $(if $(FILTER),--filter '$(FILTER)')

test-all: PACKAGES += $(ALL_PACKAGES)
test-all: deps
	exec python3 Tests/run --all

screenshot: PACKAGES += chromium chromium-driver
screenshot: debug venv
	$(call heading,"the picture of the page")
	POSTERN_SCREENSHOTS=Provisioning/images POSTERN_BIN="$(DEBUG_BIN)" \
		exec $(VENV)/bin/python -m pytest -q -p no:cacheprovider Tests/Browser/test_picture.py

# An icon that a system cuts to its own shape has no corners, and room around the picture.
icons: PACKAGES := librsvg2-bin pngquant
icons: deps
	cd Provisioning/console
	whole=$$(sed -e 's/ rx="14"//' -e 's/<path/<g transform="translate(5.6 5.6) scale(.825)">&/' \
		-e 's:</svg>:</g>&:' icon.svg)
	rsvg-convert -w 192 icon.svg | pngquant --strip 8 - > icon-192.png
	rsvg-convert -w 512 <<< "$$whole" | pngquant --strip 6 - > icon-512.png
	rsvg-convert -w 180 <<< "$$whole" | pngquant --strip 8 - > icon-180.png

# A load in C, a certificate, and the size of a stripped program.
bench: PACKAGES += gcc libc6-dev openssl binutils
bench: build venv
	$(call heading,"the pipeline")
	exec $(VENV)/bin/python3 -B Tests/Benchmarks/Pipeline $(if $(SHORT),--short) \
		--json $(or $(JSON),.build/bench.json) "$(BIN)/postern-agent"

# An echo in C through the same broker, on the same core.
bench-authority: PACKAGES += gcc libc6-dev util-linux postgresql
bench-authority: build
	$(call heading,"the authority under load")
	exec python3 -B Tests/Benchmarks/Authority $(if $(SHORT),--short) \
		--json $(or $(JSON),.build/bench-authority.json) "$(BIN)"

# One board, mosquitto, the authority and SQLite.
bench-data-path: build venv
	$(call heading,"data from the broker into the store")
	exec $(VENV)/bin/python3 -B Tests/Benchmarks/DataPath $(if $(SHORT),--short) "$(BIN)"

# A database, a broker, two authorities and a fleet; each is killed in turn.
fleet: PACKAGES += postgresql
fleet: build venv
	$(call heading,"the fleet")
	exec $(VENV)/bin/python3 -B Tests/Fleet $(if $(SHORT),--short) $(if $(SEED),--seed $(SEED)) \
		--json $(or $(JSON),.build/fleet.json) "$(BIN)"

bench-gate: build
	exec "$(BIN)/bench-gate" $(if $(SHORT),--short)

bench-data: build
	exec "$(BIN)/bench-data" $(if $(SHORT),--short)

fuzz:
	exec python3 Tests/Fuzz/run --seconds $(or $(SECONDS),600) $(TARGET)

# libfiu injects disk faults. A library of the test makes the disk slow.
torture: PACKAGES += fiu-utils gcc libc6-dev
torture: build venv
	$(call heading,"torture")
	exec $(VENV)/bin/python Tests/Torture/run "$(BIN)" \
		$(if $(SHORT),--short) $(if $(SEED),--seed $(SEED)) $(if $(JSON),--json $(JSON)) \
		$(if $(DURABILITY),--agent POSTERN_OUTBOX_DURABILITY=$(DURABILITY))

# Each write of an app is one record.
kills: debug venv
	$(call heading,"kills")
	POSTERN_KILLS=$(or $(KILLS),200) POSTERN_BIN="$(DEBUG_BIN)" \
		exec $(VENV)/bin/python -m pytest -q -s -p no:cacheprovider Tests/Interop/test_python_library.py \
		Tests/Interop/test_swift_app.py -k one_record_over_kills

# A library of the test records, eatmydata turns off syncing, strace shows the order of calls.
powercut: PACKAGES += gcc libc6-dev eatmydata strace
powercut: build venv
	$(call heading,"power cuts")
	exec $(VENV)/bin/python Tests/PowerCut/run $(if $(SHORT),--short) --bin "$(BIN)"

clean:
	rm -rf .build $(VENV)
