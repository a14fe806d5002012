# `make run` serves the shipped model, `make test` runs all tests; each does its own set-up.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
SERVING := .venv
DEVELOPMENT := .venv-dev

.PHONY: help run test check gpu-check containers-check lock format clean

help:
	@echo "make run     install what serving needs (no PyTorch) and serve the shipped model"
	@echo "make test    install what tests need and run them all"
	@echo "make check   ruff, format and type checks"
	@echo "make gpu-check  on a machine with a GPU: build plans, check and measure the TensorRT engine"
	@echo "make containers-check  images, compose, Prometheus and manifests; needs root and a Docker engine"
	@echo "make lock    the versions of what is inside the images, for docker/*.lock"
	@echo "make format  let ruff format and fix"
	@echo "make clean   remove both environments and all caches"
	@echo "Options of dragoman serve: make run ARGS='--http-port 9000'"

run: $(SERVING)/installed
	$(SERVING)/bin/dragoman serve model_repository $(ARGS)

test: $(DEVELOPMENT)/installed
	$(DEVELOPMENT)/bin/python -m pytest -n 2 --dist loadfile $(ARGS)

check: $(DEVELOPMENT)/installed
	$(DEVELOPMENT)/bin/ruff check
	$(DEVELOPMENT)/bin/ruff format --check
	$(DEVELOPMENT)/bin/mypy
	@# Each model's file has the same name, so that mypy takes them one at a time.
	for file in model_repository/*/1/model.py; do $(DEVELOPMENT)/bin/mypy $$file || exit 1; done

gpu-check:  # in the image for GPUs, which has TensorRT; the package is installed there
	python3 -m tests.gpu.check $(ARGS)

containers-check: $(DEVELOPMENT)/installed
	.ci/containers

format: $(DEVELOPMENT)/installed
	$(DEVELOPMENT)/bin/ruff check --fix
	$(DEVELOPMENT)/bin/ruff format

clean:
	rm -rf $(SERVING) $(DEVELOPMENT) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(SERVING)/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(SERVING)
	$(SERVING)/bin/pip install --quiet --disable-pip-version-check --editable '.[serving]'
	@du -sm $(SERVING) | awk '{print "installed for serving: " $$1 " MB"}'
	@touch $@

$(DEVELOPMENT)/installed: pyproject.toml
	$(PYTHON) -m venv --clear $(DEVELOPMENT)
	$(DEVELOPMENT)/bin/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Versions of what is inside the images. PyPI's present ones: make lock ARGS=--upgrade
lock: $(DEVELOPMENT)/installed
	for image in "cpu serving 3.11" "gpu serving-gpu 3.12"; do set -- $$image; \
	    $(DEVELOPMENT)/bin/uv pip compile --quiet --generate-hashes --no-annotate \
	        --custom-compile-command "make lock" --python-version $$3 --extra $$2 $(ARGS) \
	        --output-file docker/$$1.lock pyproject.toml docker/init.in || exit 1; \
	done
