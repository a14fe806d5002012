# The translator on a GPU: NVIDIA's tritonserver and TensorRT, and Dragoman beside them.
# TensorRT must be 10.15 or newer; the build fails, and says so, where it is older.
ARG BASE_IMAGE=nvcr.io/nvidia/tritonserver:26.08-py3

# Dragoman as a wheel: a change of it leaves the layer of packages as it was.
FROM ${BASE_IMAGE} AS dragoman
# hadolint ignore=DL3042
RUN --mount=type=cache,target=/root/.cache/pip \
    python3 -m pip install --disable-pip-version-check --target /build/tools setuptools==84.2.1
WORKDIR /build/source
COPY pyproject.toml README.md LICENSE ./
COPY bench bench
COPY export export
COPY model model
COPY serving serving
RUN PYTHONPATH=/build/tools python3 -m pip wheel \
        --no-deps --no-build-isolation --wheel-dir /build/wheels .

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Dragoman" \
      org.opencontainers.image.description="Translation served by NVIDIA Triton on GPUs" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 0
COPY docker/gpu.lock /build/
# An environment of its own keeps the image's packages as they are, and still finds its TensorRT.
# hadolint ignore=DL3042
RUN --mount=type=cache,target=/root/.cache/pip \
    useradd --uid 10001 --home-dir /tmp --no-create-home --shell /usr/sbin/nologin dragoman \
    && mkdir /plans && chown dragoman /plans \
    && python3 -m venv --without-pip --system-site-packages /opt/dragoman \
    && python3 -m pip --python /opt/dragoman/bin/python install --disable-pip-version-check \
        --no-deps --ignore-installed --require-hashes --requirement /build/gpu.lock
COPY model_repository /models
COPY docker/tensorrt-bindings.sh /build/
RUN --mount=type=bind,from=dragoman,source=/build/wheels,target=/build/wheels \
    python3 -m pip --python /opt/dragoman/bin/python install --disable-pip-version-check \
        --no-cache-dir --no-index --no-deps /build/wheels/*.whl \
    && /build/tensorrt-bindings.sh /opt/dragoman
ENV PATH=/opt/dragoman/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DRAGOMAN_ENGINE=tensorrt \
    DRAGOMAN_PLANS=/plans
COPY docker/entrypoint.sh /usr/local/bin/
WORKDIR /
USER 10001:10001
EXPOSE 8000 8001 8002
VOLUME /plans
HEALTHCHECK --interval=10s --timeout=15s --start-period=30m --retries=3 CMD ["dragoman", "health"]
# In place of NVIDIA's entrypoint, which prints a banner and writes to the root file system.
ENTRYPOINT ["dumb-init", "--", "entrypoint.sh"]
CMD ["--ready-timeout", "600"]
