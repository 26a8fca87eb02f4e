# make serve   install what a broker needs and serve on 127.0.0.1:9092 from ./data
# make setup   install what developers need as well
# make wheel-producer  build dist/stepdown_producer-*.whl, the producer alone, install it in a fresh environment and try it
# make wheel   build dist/stepdown-*.whl, install it without a compiler and try it
# make quick   check style and run what is fast and needs neither Java nor Spark (a minute; TESTS=tests/unit/storage for a room)
# make test    set everything up, check style and types, run all tests, on other Pythons those that differ there
# make pythons run those tests on the other versions of Python that are here
# make times   how long starts, fixtures, imports and others under attack take, beside what was kept (KEEP=--keep)
# make margins the comparisons in tests that hold by less than a tenth of their bound (TESTS=tests/fault for a room)
# make login-timing  whether the time of a failed login tells that its user exists, 2,000 tries each (TRIES=…)
# make audit   known holes of what is installed, by pip-audit (needs an index that has them, as PyPI), and the least versions that are asked for
# make docker-check  build what the image holds, ask every dashboard query of a real Prometheus
# make bench-reference  measure all that stepdown sets out to reach beside Kafka, into docs/results (an hour)
# make tiered  tiered storage of three Kafka brokers, through an unclean election, read from a path and from S3 (MB=2000)
# make pipeline-range  eleven offsets of a log of 10 GB by time and bytes, all rows from S3 beside a path, and with BESIDE=PYTHON those of another checkout (GB=10)
# make pipeline-cluster  rows of a log of 10 GB on two Spark workers without a shared disk, one of them killed (GB=10, needs root)
# make docs    the site of docs/, in build/docs/site; a warning is a failure
# make pictures  the pictures of the page in docs, of a broker with real clients (needs Chromium)
# make gate    count the instructions of a dozen loads, name what moved since they were kept (needs perf or valgrind)
# make sanitize damaged LZ4 and snappy streams, opened and converted under AddressSanitizer for half an hour (needs gcc; SANITIZE_S=… SEED=…)
# make client-suites  run the clients' own tests against a broker: franz-go (needs Go), librdkafka (needs Debian's sources), kafka-python; old and new clients through each listener
# make access-cases  random rights, requests and conversations about logins, 2,000 of each, answered as by Kafka 3.9.1 (ACCESS_CASES=… SEED=…)
# make mutated-frames  throw 10 million mutated requests at a broker whose compiled modules have AddressSanitizer (FRAMES=…)
# make mutated-logins  throw a million mutated logins at a broker, before and during SASL and TLS (INPUTS=… SEED=…)
# make mutated-gateway  throw a million mutated requests at a gateway, and as many answers of its cluster, by both address schemes (FRAMES=… SEED=…)
# make gateway-cost  the CPU time and latency of the gateway beside HAProxy and none, before a Kafka 4.4.0; CONNECTIONS=2000: memory (needs haproxy)
# make gateway-clients  the matrix of clients, their groups and transactions, Kafka 4's tools and moving leaders, through a gateway to Kafka 4.4.0; 80 setups and their verdicts (needs Go, Node)
# make gateway-suites  the clients' own tests through a gateway to Kafka 4.4.0, beside direct runs: kafka-python, franz-go (needs Go), librdkafka (needs Debian's sources)
# make page-soak  a broker with 1,000 topics and 10,000 requests a second: what an open page costs it and its clients (SECONDS=3600, needs Chromium)
# make gateway-soak  old and new clients through a gateway, while brokers of three Kafka 4.4.0 and its workers are killed (SECONDS=3600)
# make producer-storm  10 million records of random scripts by the producer: splits, fences, kills, cut connections (RECORDS=… SEED=…)
# make producer-splits  batches above the topic's limit and one record that is too large, 200 runs each on stepdown and on Kafka, in peace and with cut connections
# make random-migrations  random log directories of brokers with ZooKeeper, migrated to Kafka 4.4.0 and back (SEEDS=200 MIGRATION_FIRST=100)
# make handovers         random operations on one directory that stepdown and Kafka 3.9.1 or 4.4.0 have in turn, ten hand-overs a run, acknowledged against readable (SEEDS=200)
# make crowd-soak  an honest producer and consumer among a thousand connections of all kinds, for ten minutes (CROWD_S=…)
# make act-as-clients  80 old and new clients against each release of Kafka that runs here, and a broker that acts as it (needs Go, Node)
# make same-seed  each scenario RUNS times (1000) on every Python that is here: the same lines each time
# make thirty-tests  the same thirty tests for stepdown, EmbeddedKafka, Testcontainers and kfake: lines, seconds
# make soak    the long suites: kill -9, mutations, many seeds

PYTHON ?= python3
VENV   ?= .venv
LISTEN ?= 127.0.0.1:9092
BIN    := $(VENV)/bin
ROOMS  := protocol config storage network broker client producer gateway testing cli bench pipeline
STAMP  := $(VENV)/.installed
SERVES := $(VENV)/.serves
KERNEL := $(shell find include -name '*.pxd') $(wildcard protocol/records/kernel/*.h) $(shell grep -rl --include='*.py' '^\# cython:' protocol storage network broker producer)
PREPARED := $(VENV)/.quick
# Those of 3.12 and 3.13 that are here, and the paths of their interpreters.
python_of = $(shell for python in $$(which -a python$(1)) $$HOME/.pyenv/versions/$(1).*/bin/python; do \
	$$python -c '' 2> /dev/null && echo $$python && break; done)
VERSIONS := $(foreach version,3.12 3.13,$(if $(call python_of,$(version)),$(version)))
OTHERS := $(foreach version,$(VERSIONS),$(call python_of,$(version)))
# What a version of Python may change: asyncio and ssl, the C API under compiled modules, code that is generated from
# schemas. All else was tried on the first Python and means the same on each.
DIFFER := tests/unit/network tests/unit/broker/dispatch tests/unit/broker/scheduling tests/unit/client tests/unit/producer/network \
	tests/unit/protocol tests/unit/storage/downconversion tests/unit/storage/files \
	tests/property/test_records.py tests/property/test_compressed_batches.py tests/property/test_hostile_messages.py tests/property/test_block_loops.py
# Tests wait for others two thirds of the time: three times as many of them at once as there are processors, where
# each can have a gigabyte.
WORKERS := $(shell awk -v most=$$(($$(nproc) * 3)) '/MemTotal/ {fit = int($$2 / 1000000); print fit < 2 ? 2 : fit < most ? fit : most}' /proc/meminfo)
# pytest keeps what it makes of a test file for the other workers and the next run.
export PYTHONDONTWRITEBYTECODE :=
PYTEST  = -m pytest -n $(WORKERS) --dist loadfile -rfEs
GENERATED := $(shell find protocol storage network broker producer -name "*.c")

.DEFAULT_GOAL := help
.PHONY: help setup serve wheel wheel-producer quick pythons test times margins check format audit docker-check pictures bench-reference gate sanitize client-suites mutated-frames mutated-logins mutated-gateway gateway-cost gateway-clients gateway-suites gateway-soak crowd-soak producer-storm producer-splits handovers access-cases random-migrations same-seed soak clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# Cython does not look into include/ for what changed, so the C files are made anew.
$(STAMP): pyproject.toml setup.py $(KERNEL) | $(VENV)/bin/python
	$(if $(filter %.pxd %.h,$?),rm -f $(GENERATED))
	@echo "installing what developers need into $(VENV): oracles, real clients, Spark (about 1.2 GB, two minutes)"
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(SERVES) $(PREPARED)

# setuptools warns at each editable installation that folders here have the package's name, as they are to have.
# What the tests need that need neither Java nor Spark.
$(PREPARED): pyproject.toml setup.py $(KERNEL) | $(VENV)/bin/python
	$(if $(filter %.pxd %.h,$?),rm -f $(GENERATED))
	@echo "compiling and installing what the quick tests need into $(VENV) (one to three minutes of processor time)"
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(SERVES)

# What a broker needs, without Spark, tests and oracles.
$(SERVES): pyproject.toml setup.py $(KERNEL) | $(VENV)/bin/python
	$(if $(filter %.pxd %.h,$?),rm -f $(GENERATED))
	@echo "compiling and installing what a broker needs into $(VENV) (one to three minutes of processor time)"
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --editable .
	@touch $@

# pip compiles what it installs to bytecode, but not what it installs in place: half of the time of a start.
setup: $(STAMP)
	@$(BIN)/python -m compileall -q $(ROOMS) __init__.py __main__.py

serve: $(SERVES)
	SERVED_BY_MAKE=1 $(BIN)/stepdown serve --listen $(LISTEN) --log-dir ./data

# The wheel is for every Linux whose C library is as new as the symbols it uses (auditwheel says which, in its name).
wheel: setup
	rm -rf build/wheel && $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl
	$(BIN)/python -m pytest -m wheel tests/wheel/test_wheel.py

# What each compiles and runs is its own.
pythons: setup
	@$(BIN)/python tests/parts.py $(PYTHON_PARTS)

PYTHON_PARTS = $(foreach version,$(VERSIONS),-- 'Python $(version)' '$(MAKE) --no-print-directory python-$(version)')

python-%:
	$(call python_of,$*) -m venv build/python-$*
	build/python-$*/bin/python -m pip install --quiet '.[test]'
	build/python-$*/bin/python $(PYTEST) -m "not (slow or java or browser)" $(DIFFER)

build/types/stepdown:
	mkdir -p build/types && ln -sfn ../.. build/types/stepdown

wheel-producer: setup
	$(BIN)/python distributions/producer/build.py dist
	$(BIN)/python -m pytest -m wheel tests/wheel/test_producer_wheel.py

STYLE = $(BIN)/ruff check . && $(BIN)/ruff format --check .
TYPES = cd build/types && ../../$(BIN)/mypy --strict $(foreach r,$(ROOMS),-p stepdown.$(r))

check: setup build/types/stepdown
	$(STYLE)
	$(TYPES)

format: setup
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

TESTS ?= $(addprefix tests/unit/,house config protocol storage network client broker producer support)

# A worker imports and collects all tests, in eight seconds of its processor, and these tests seldom wait: no more of them.
quick: $(PREPARED)
	$(STYLE)
	$(BIN)/python -m pytest -n $(shell nproc) --dist loadfile -rfEs -m "not (lengthy or slow or java or spark or browser or docker or wheel)" $(TESTS)

test: setup build/types/stepdown
	@$(BIN)/python tests/parts.py style '$(STYLE)' -- types '$(TYPES)' -- \
		'all tests' '$(BIN)/python $(PYTEST) -m "not slow and not docker and not wheel"' $(PYTHON_PARTS)

audit: setup
	$(PYTHON) -m venv build/audit && build/audit/bin/python -m pip install --quiet pip-audit
	-build/audit/bin/pip-audit --format json --output build/audit/found.json --path $$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")
	$(BIN)/python -m pytest -q tests/unit/house/test_floors.py
	cd tests && ../$(BIN)/python -m support.audit ../build/audit/found.json

docker-check: setup
	$(BIN)/python -m pytest -m docker tests/docker

.PHONY: docs
docs: setup
	cd tests && ../$(BIN)/python -m support.docs_site

pictures: setup
	cd tests && ../$(BIN)/python -m support.docs_pictures

bench-reference: setup
	$(BIN)/stepdown bench reference

MB ?= 2000
GB ?= 10

.PHONY: tiered unsound-directories pipeline-range pipeline-cluster
tiered: setup
	TIERED_MB=$(MB) $(BIN)/python -m pytest -s -m slow tests/interop/test_tiered_storage_at_size.py

unsound-directories: setup
	STEPDOWN_SEEDS=$(SEEDS) $(BIN)/python $(PYTEST) --dist load tests/property/test_unsound_directories.py

pipeline-range: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.pipeline_costs --gigabytes $(GB) $(if $(BESIDE),--beside $(abspath $(BESIDE)))

pipeline-cluster: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.pipeline_on_cluster --gigabytes $(GB)

gate: setup
	$(BIN)/python bench/questions/instructions.py

KEEP ?=

times: setup
	$(BIN)/python bench/questions/times.py $(KEEP)

# Apart from what is compiled for other runs, which do not look at assertions that pass.
margins: setup
	PYTHONPATH=tests PYTHONPYCACHEPREFIX=build/margins $(BIN)/python $(PYTEST) -p support.margins \
		-o enable_assertion_pass_hook=true -m "not (slow or docker or wheel)" $(TESTS)

TRIES ?= 2000

.PHONY: login-timing
login-timing: setup
	$(BIN)/python bench/questions/login_timing.py $(TRIES)

SANITIZE_S ?= 1800

sanitize: setup
	$(BIN)/python tests/fault/mutated_streams.py $(SANITIZE_S) $(SEED)

client-suites: setup
	$(BIN)/python -m pytest -m slow tests/interop/test_client_suites.py tests/interop/test_secure_listeners.py

soak: setup
	$(BIN)/python -m pytest -m slow

# A copy of the tree, whose modules are compiled for it: Python finds it before the installed one.
ASAN   := build/asan
FRAMES ?= 10000000
SEED   ?= 1

mutated-frames: setup
	mkdir -p $(ASAN)/stepdown && git ls-files | tar --create --files-from=- | tar --extract --directory $(ASAN)/stepdown
	cd $(ASAN)/stepdown && CFLAGS="-fsanitize=address -fno-omit-frame-pointer" LDFLAGS="-fsanitize=address" \
		$(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	cd tests && $(CURDIR)/$(BIN)/python -m support.hostile.mutated_frames $(FRAMES) $(SEED) PYTHONPATH=$(CURDIR)/$(ASAN) \
		LD_PRELOAD=$$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=64

ACCESS_CASES ?= 2000

access-cases: setup
	ACCESS_CASES=$(ACCESS_CASES) SEED=$(SEED) $(BIN)/python -m pytest -m "java and not slow" tests/property/test_authorizer.py \
		tests/differential/test_authorization_against_kafka.py tests/differential/test_logins_against_kafka.py

INPUTS ?= 1000000

mutated-logins: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.hostile.mutated_logins $(INPUTS) $(SEED)

mutated-gateway: FRAMES = 1000000
mutated-gateway: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.hostile.mutated_gateway $(FRAMES) $(SEED)

ROUNDS      ?= 3
CONNECTIONS ?= 0

gateway-cost: setup
	$(BIN)/python bench/questions/gateway_cost.py --rounds $(ROUNDS) --connections $(CONNECTIONS)

# What is run against the broker, with a gateway and Kafka 4.4.0 in its place.
MATRIX := $(addprefix tests/interop/test_,real_clients.py java_generations.py groups_resume.py transactions.py)

gateway-clients: setup
	STEPDOWN_TEST_BROKER=gateway $(BIN)/python $(PYTEST) $(MATRIX)
	STEPDOWN_TEST_BROKER=gateway-single $(BIN)/python $(PYTEST) $(MATRIX)
	$(BIN)/python -m pytest -m slow $(addprefix tests/interop/test_,gateway_clients.py client_verdicts.py gateway_tools.py gateway_moving_leaders.py)

gateway-suites: setup
	$(BIN)/python -m pytest -m slow tests/interop/test_gateway_suites.py

SECONDS ?= 3600

.PHONY: page-soak
page-soak: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.page_soak $(SECONDS)

gateway-soak: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.gateway_soak $(SECONDS)

# Those of OTHERS that are here, in environments of their own, give the lines of ours.
RUNS ?= 1000

same-seed: setup
	mkdir -p build/same-seed
	cd tests && $(CURDIR)/$(BIN)/python -m support.same_seed $(RUNS) > $(CURDIR)/build/same-seed/lines; found=$$?; cat $(CURDIR)/build/same-seed/lines; exit $$found
	@for python in $(OTHERS); do \
		name=build/same-seed/$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])') && echo "$$name" && \
		$$python -m venv $$name && $$name/bin/python -m pip install --quiet '.[testing]' && \
		(cd tests && $(CURDIR)/$$name/bin/python -m support.same_seed $(RUNS)) | diff build/same-seed/lines - || exit 1; \
	done

RECORDS ?= 10000000

producer-storm: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.producer_storm $(RECORDS) $(SEED)

producer-splits: setup
	$(BIN)/python -m pytest -m slow tests/interop/test_producer_splits.py

.PHONY: act-as-clients
act-as-clients: setup
	$(BIN)/python -m pytest -s -m slow tests/interop/test_client_verdicts.py -k acts_as_a_release

.PHONY: thirty-tests
thirty-tests: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.thirty_tests

SEEDS ?= 200

handovers: setup
	HANDOVER_SEEDS=$(SEEDS) $(BIN)/python -m pytest -s -m slow tests/interop/test_metadata_handover.py

random-migrations: setup
	MIGRATION_SEEDS=$(SEEDS) $(BIN)/python -m pytest -s -m slow tests/interop/test_random_migrations.py

CROWD_S ?= 600

crowd-soak: setup
	cd tests && $(CURDIR)/$(BIN)/python -m support.hostile.crowd_soak $(CROWD_S)

clean:
	rm -rf build dist *.egg-info $(GENERATED) $(GENERATED:.c=.so)
