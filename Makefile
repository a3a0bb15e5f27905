# Two commands are all the set-up: `make demo` and `make test`. Each prepares .venv by itself, `make demo` with what a
# user needs, the others with the extras and the development group too.
# Python 3.11 to 3.13: the first that is here, or PYTHON=… Without a GPU the CPU build of torch, or TORCH="…". See .ci/install.
BIN := .venv/bin

.PHONY: install demo test research nightly lint wheels bench docs pretrained clean

install:
	@.ci/install dev

demo:
	@.ci/install user
	$(BIN)/marecg demo

test: install
	$(BIN)/pytest -n 2 --dist worksteal

# The tests of research/, which only concern experiments.
research: install
	$(BIN)/pytest -n 2 --dist worksteal research/tests

# Damaged and hostile inputs, kills and full disks, launchers, clusters and notebooks: other cases every day.
nightly: install
	$(BIN)/pytest -q tests/fuzz/test_readers.py --hypothesis-profile=daily
	MARECG_FAULTS=24 $(BIN)/pytest -q tests/fuzz/test_faults.py
	$(BIN)/pytest -q -n 2 -m "slow or nightly" tests research/tests
	.ci/sssom

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The wheels, in an empty environment without the source tree.
wheels: install
	.ci/wheels

# Ratios against named baselines, on a machine that does nothing else.
bench: install
	$(BIN)/python -m benchmarks --out bench.json

# The two encoders of marecg-small, from real records in the folders ptbxl, chapman, code15-samitrop and cinc2021 of
# $(RECORDS): make pretrained RECORDS=/data/ecg. Hours of one core each; interrupted, the same command goes on.
PRETRAINED ?= pretrained
PTBXL := $(RECORDS)/ptbxl
FOLDS := $(BIN)/marecg prepare $(PTBXL) --set rpeaks_lead=best --out $(PRETRAINED)/folds
SMALL := $(BIN)/marecg train --recipe small --data $(PRETRAINED)/corpus --set 'sampling.shares={"synth": 0.25}'
pretrained: install
	test -d "$(RECORDS)/ptbxl"
	test -d $(PRETRAINED)/synth || $(BIN)/marecg synth --out $(PRETRAINED)/synth --records 9000 --seed 11
	$(BIN)/marecg prepare $(PTBXL) $(RECORDS)/chapman $(RECORDS)/code15-samitrop \
		$(filter-out %/ptb-xl,$(wildcard $(RECORDS)/cinc2021/*)) $(PRETRAINED)/synth \
		--out $(PRETRAINED)/corpus --set 'ptbxl_folds=[1,2,3,4,5,6,7,8]' --set rpeaks_lead=best
	$(SMALL) --out $(PRETRAINED)/without-ptbxl-codes --set 'sampling.without_codes=["ptbxl"]'
	$(SMALL) --out $(PRETRAINED)/with-ptbxl-codes --from $(PRETRAINED)/without-ptbxl-codes \
		--set train.max_epochs=3 --set train.warmup_epochs=0.3 --set train.lr=0.001
	# Families whose untaught leaves are better scored by their family: docs/graph.md.
	for run in $(PRETRAINED)/without-ptbxl-codes $(PRETRAINED)/with-ptbxl-codes; do $(BIN)/python -c "import marecg; \
		model = marecg.MarEcg.from_pretrained('$$run'); \
		model.untaught_by_family = ('Conduction', 'Ischemic'); \
		model.save_pretrained('$$run/model')" || exit 1; done
	# Real records only: with synthetic ones the fit hasn't been tried.
	for run in $(PRETRAINED)/without-ptbxl-codes $(PRETRAINED)/with-ptbxl-codes; do \
		$(BIN)/python -m marecg.use.fit_concept_scores $$run --data $(PRETRAINED)/corpus --without synth || exit 1; done
	$(BIN)/marecg probe $(PRETRAINED)/without-ptbxl-codes $(PRETRAINED)/with-ptbxl-codes --set readout=full \
		--task ptbxl-super --task ptbxl-sub --task ptbxl-form --task ptbxl-rhythm --root $(PTBXL) \
		--baseline minirocket --baseline resnet1d --card
	$(FOLDS)-1-6 --set 'ptbxl_folds=[1,2,3,4,5,6]'
	$(FOLDS)-7-8 --set 'ptbxl_folds=[7,8]'
	$(FOLDS)-9-10 --set 'ptbxl_folds=[9,10]'
	$(BIN)/python -m marecg.use.fit_answers $(PRETRAINED)/with-ptbxl-codes --fit $(PRETRAINED)/folds-1-6 \
		--judge $(PRETRAINED)/folds-7-8 $(PRETRAINED)/folds-9-10 --out $(PRETRAINED)/answers
	cp $(PRETRAINED)/answers/answers.json $(PRETRAINED)/with-ptbxl-codes/model/

docs: install
	$(BIN)/pip install --quiet -c constraints.txt --group docs
	$(BIN)/zensical build --strict --clean

clean:
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
