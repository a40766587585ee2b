# Two commands matter: `make demo` and `make test`. Every target makes what it needs; `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
MAKEFLAGS += --no-print-directory

PYHUDI_ENV ?= .cache/env
DIRECTORY ?= demo-data
SECONDS ?= 300

# Sets up a recipe's shell: the environment with one extra, and Java; both are quick when they are there already.
define ENTER
environment=$$(scripts/environment.sh $(1))
export PATH="$$environment/bin:$$PATH" PYTHONUNBUFFERED=1
export PYSPARK_PYTHON="$$environment/bin/python" PYSPARK_DRIVER_PYTHON="$$environment/bin/python"
endef
define WITH_JAVA
JAVA_HOME=$$(scripts/java.sh)
export JAVA_HOME PATH="$$JAVA_HOME/bin:$$PATH"
endef
export PYHUDI_ENV

.PHONY: help demo kill-demo test lint format docs unit long s3 all-s3 azure gcs hdfs all-hdfs spark spark-3.5 other-sparks model together installs provider interop fixtures-services \
	operations-in-turn rounds-in-turn all-plans all-faults mutants simulation small-worlds simulated-bugs fuzz object-store all-spark all-interop nightly faults bench benches wheel clean

help: ## Show this list
	@echo "Targets (each makes its own environment in $(PYHUDI_ENV) on first use):"
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'
	@echo "Variables: PYHUDI_ENV (the environment's folder), PYHUDI_PYTHON (a Python >= 3.11), DIRECTORY (of the demo),"
	@echo "           ARGS (passed on to pyhudi-demo, pytest or the benchmark), JAVA_HOME (a Java >= 17)."

demo: ## Run the whole life of two tables of flights from Airflow (DIRECTORY=demo-data, or s3://bucket/folder)
	@$(call ENTER,demo)
	$(WITH_JAVA)
	case "$(DIRECTORY) $(ARGS) " in s3://*|*" --s3 "*)
		export PYHUDI_S3_SERVER=$$(python scripts/s3_env.py | python -c 'import json, sys; print(json.loads(sys.stdin.read())["server"])') ;;
	esac
	exec pyhudi-demo --directory "$(DIRECTORY)" $(ARGS)

kill-demo: ## Kill the demo at each task's start and at 20 random moments, look at the tables after (an hour)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec python scripts/kill_demo.py $(ARGS)

test: ## Run all checks and tests: lint, unit, long, s3, installs, provider, spark, spark-3.5, faults, interop; stops at the first that fails
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec scripts/run_tests.sh lint unit long s3 installs provider spark spark-3.5 $(if $(wildcard tests/faults/test_*.py),faults) interop

lint: ## Run ruff, mypy --strict, the import rules and the check of docs/
	@$(call ENTER,dev)
	exec scripts/run_tests.sh lint

format: ## Format the code with ruff
	@$(call ENTER,dev)
	ruff format . && ruff check --fix .

docs: ## Write the tables of options and keys in docs/ from the code
	@$(call ENTER,dev)
	python scripts/reference_docs.py

unit: ## Run the tests that need neither Spark nor Airflow's database, but for the long ones
	@$(call ENTER,dev)
	exec scripts/run_tests.sh unit

long: ## Run the long ones of the unit tests: whole tables and random cases
	@$(call ENTER,dev)
	exec scripts/run_tests.sh long

s3: ## Run unit tests and faults on a server of S3 that the tests start (moto, in an environment of its own)
	@$(call ENTER,dev)
	exec scripts/run_tests.sh s3

all-s3: ## Run all of them there (an hour)
	@$(call ENTER,dev)
	export PYHUDI_NIGHTLY=1
	exec scripts/run_tests.sh s3

azure: ## Run unit tests and faults on a server of Azure's blobs that the tests start (Azurite, in an environment of its own)
	@$(call ENTER,dev)
	exec scripts/run_tests.sh azure

gcs: ## Run unit tests and faults on a server of Google Cloud Storage that the tests have
	@$(call ENTER,dev)
	exec scripts/run_tests.sh gcs

hdfs: ## Run unit tests and faults on a cluster of HDFS that the tests start, and beside real Hudi there
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	exec scripts/run_tests.sh hdfs

all-hdfs: ## Run all of them there (hours)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	export PYHUDI_NIGHTLY=1
	exec scripts/run_tests.sh hdfs

spark: ## Run the tests that start Spark
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec scripts/run_tests.sh spark

spark-3.5: ## Run some of them on Spark 3.5, in an environment of its own
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec scripts/run_tests.sh spark-3.5

other-sparks: ## Run more of them on Spark 3.5, 4.0 and 4.1 (a quarter of an hour)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	for line in 3.5 4.0 4.1; do python tests/other_sparks.py --whole "$$line"; done

model: ## Run random steps on every kind of table against a dict, new ones each time (EXAMPLES=10 STEPS=12)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	export PYHUDI_MODEL_EXAMPLES=$${EXAMPLES:-10} PYHUDI_MODEL_STEPS=$${STEPS:-12} PYHUDI_NIGHTLY=1
	exec python -m pytest -m "spark or unit" tests/spark/write/test_model.py tests/unit/services/test_table_machine.py $(ARGS)

together: ## Run a writer and all services on one table at once, COW then MOR, then let Hudi read it (SECONDS=300)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	export PYHUDI_NIGHTLY=1 PYHUDI_TOGETHER_SECONDS=$(SECONDS) PYHUDI_TOGETHER_SEED=$${SEED:-1}
	exec python -m pytest -s -m faults tests/faults/test_together.py $(ARGS)

installs: ## Build both distributions, install pyhudi in an empty environment and use it; by night its extras and the provider
	@$(call ENTER,dev)
	$(WITH_JAVA)
	export PYHUDI_NIGHTLY=1
	exec scripts/run_tests.sh installs

provider: ## Run the tests that need an initialised Airflow
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec scripts/run_tests.sh provider

interop: ## Run the tests beside real Hudi 0.15.0, in an environment of its own with Spark 3.5
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec scripts/run_tests.sh interop

fixtures-services: ## Run every table that Hudi made through each service, by us and by Hudi (half an hour)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	export PYHUDI_ALL_FIXTURES=1 PYHUDI_NIGHTLY=1
	exec python -m pytest -m interop tests/interop/test_fixture_services.py $(ARGS)

operations-in-turn: ## Every operation x table type x index, by us and by Hudi on one table (a quarter of an hour)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	export PYHUDI_ALL_INDEXES=1 PYHUDI_NIGHTLY=1
	exec python -m pytest -m interop tests/interop/test_operations_in_turn.py $(ARGS)

rounds-in-turn: ## Hudi and we write, compact and clean one table of each type in turn (ROUNDS=20; an hour)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	export PYHUDI_ROUNDS=$${ROUNDS:-20} PYHUDI_NIGHTLY=1
	exec python -m pytest -m interop tests/interop/test_in_turn.py -k test_rounds_in_turn $(ARGS)

all-plans: ## Plans of compaction, log compaction and clustering, by us and by Hudi, each executed by the other (five minutes)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	export PYHUDI_ALL_PLANS=1 PYHUDI_NIGHTLY=1
	exec python -m pytest -m interop tests/interop/test_rewrites.py $(ARGS)

all-faults: ## Break every storage call of every service in every way, reads too (two hours)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	export PYHUDI_ALL_FAULTS=1 PYHUDI_NIGHTLY=1
	exec python -m pytest -m faults tests/faults/test_storage_faults.py tests/faults/test_rewrite_faults.py \
		tests/faults/test_history_faults.py tests/faults/test_bootstrap_faults.py tests/faults/test_indexing_faults.py \
		tests/faults/test_metadata_faults.py $(ARGS)

mutants: ## Plant bugs in a copy of the code, one at a time: the unit tests find each (half an hour; ARGS="lock archival")
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec python scripts/mutants.py $(ARGS)

simulation: ## Live through worlds of suspended and dying processes, each by its seed (SEEDS=1-500; one seed is told step by step)
	@$(call ENTER,dev)
	exec python -m tests.simulation "$${SEEDS:-1-500}" $(ARGS)

small-worlds: ## Live through each order of the calls of two roles at a table, up to one preemption (TABLE=disk, or store; PART=1/1)
	@$(call ENTER,dev)
	exec python -m tests.simulation.small "$${TABLE:-disk}" --part "$${PART:-1/1}" $(ARGS)

simulated-bugs: ## Plant bugs one at a time: worlds of some seed find each (SEEDS=1-100)
	@$(call ENTER,dev)
	exec python -m tests.simulation "$${SEEDS:-1-100}" --bugs $(ARGS)

fuzz: ## Give each parser of files what reaches new branches of it, by atheris (SECONDS_EACH=60)
	@$(call ENTER,dev)
	path=$$(python scripts/fuzz_env.py | python -c 'import json, sys; print(json.loads(sys.stdin.read())["path"])')
	PYTHONPATH="$$path" exec python -m tests.fuzz --seconds "$${SECONDS_EACH:-60}" $(ARGS)

object-store: ## Run all unit and fault tests that take any storage on a store of objects in memory
	@$(call ENTER,dev)
	$(WITH_JAVA)
	export PYHUDI_NIGHTLY=1
	python -m pytest -m unit -k object_store -n 2 tests/unit $(ARGS)
	exec python -m pytest -m faults -k object_store -n 2 tests/faults $(ARGS)

all-spark: ## Run the tests that start Spark, by Airflow or not, those too that tests/nightly.py leaves to the night
	@$(call ENTER,dev)
	$(WITH_JAVA)
	export PYHUDI_NIGHTLY=1
	exec scripts/run_tests.sh spark provider

all-interop: ## Run the tests beside real Hudi, those too that tests/nightly.py leaves to the night
	@$(call ENTER,dev)
	$(WITH_JAVA)
	export PYHUDI_NIGHTLY=1
	exec scripts/run_tests.sh interop

nightly: ## Run all that `make test` leaves out, one after the other (hours); stops at the first that fails
	@for target in installs object-store all-s3 azure gcs all-hdfs all-spark other-sparks all-interop all-faults fixtures-services operations-in-turn rounds-in-turn \
		all-plans model mutants simulation small-worlds fuzz together; do
		$(MAKE) "$$target"
	done

faults: ## Run the tests that kill processes and fail storage calls
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec scripts/run_tests.sh faults

bench: ## Compare with real Hudi 0.15.0 on TPC-H lineitem (about half an hour)
	@$(call ENTER,dev)
	$(WITH_JAVA)
	python scripts/real_hudi_env.py >/dev/null
	exec python benchmarks/lineitem.py $(ARGS)

benches: ## List the benchmarks: each is a target, as bench-growth (ARGS=--help tells its options)
	@for script in $$(grep -l __main__ benchmarks/*.py | grep -v -e _server -e request_log -e crowd_roles); do
		name=$$(basename "$$script" .py)
		printf 'make %-24s %s\n' "bench-$${name//_/-}" "$$(sed -n '1s/^"""//;1s/"""$$//;1p' "$$script")"
	done

bench-%:
	@$(call ENTER,dev)
	$(WITH_JAVA)
	exec python benchmarks/$(subst -,_,$*).py $(ARGS)

wheel: ## Build both wheels, airflow-provider-pyhudi and pyhudi, into dist/
	@$(call ENTER,dev)
	python -m build --wheel --outdir dist distributions/pyhudi
	exec python -m build --wheel --outdir dist

clean: ## Remove environments, caches and the demo's folder
	rm -rf .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist demo-data demo-data-s3
