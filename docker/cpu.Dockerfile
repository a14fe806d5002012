# The translator on CPUs: tritonserver from its wheel, ONNX Runtime, no PyTorch.
ARG BASE_IMAGE=python:3.11-slim-bookworm

# Packages at the versions of the lock, in an environment without pip.
FROM ${BASE_IMAGE} AS packages
COPY docker/cpu.lock /build/
# hadolint ignore=DL3042
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv --without-pip /opt/dragoman \
    && python -m pip --python /opt/dragoman/bin/python install --disable-pip-version-check \
        --no-deps --require-hashes --requirement /build/cpu.lock

# Dragoman itself as a wheel: a change of it leaves the layer of packages as it was.
FROM ${BASE_IMAGE} AS dragoman
# hadolint ignore=DL3042
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv /build/tools && /build/tools/bin/python -m pip install \
        --disable-pip-version-check setuptools==84.2.1
WORKDIR /build/source
COPY pyproject.toml README.md LICENSE ./
COPY bench bench
COPY export export
COPY model model
COPY serving serving
RUN /build/tools/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /build/wheels .

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Dragoman" \
      org.opencontainers.image.description="Translation served by NVIDIA Triton on CPUs" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin dragoman \
    && mkdir /plans && chown dragoman /plans
COPY --from=packages /opt/dragoman /opt/dragoman
COPY model_repository /models
# The launcher's folder of backends is laid out now, so that nothing need be written later.
RUN --mount=type=bind,from=dragoman,source=/build/wheels,target=/build/wheels \
    python -m pip --python /opt/dragoman/bin/python install --disable-pip-version-check \
        --no-cache-dir --no-index --no-deps /build/wheels/*.whl \
    && XDG_CACHE_HOME=/opt/dragoman/cache /opt/dragoman/bin/python -c \
        "from serving.launcher import backends, installation; \
        backends.backend_directory(installation.find_installation())" \
    && chmod -R a+rX /opt/dragoman/cache
ENV PATH=/opt/dragoman/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/opt/dragoman/cache \
    DRAGOMAN_PLANS=/plans
COPY docker/entrypoint.sh /usr/local/bin/
USER 10001:10001
EXPOSE 8000 8001 8002
VOLUME /plans
HEALTHCHECK --interval=10s --timeout=15s --start-period=120s --retries=3 CMD ["dragoman", "health"]
ENTRYPOINT ["dumb-init", "--", "entrypoint.sh"]
