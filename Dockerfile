# The command line, with the embedded model, figures, parsing and baselines; no PyTorch.
#   docker build -t contrafact .
#   docker run --rm -v "$PWD:/work" contrafact demo --out demo
# The review studio is another target: docker build --target studio -t contrafact-studio .
FROM python:3.12-slim-bookworm AS build
WORKDIR /src
# hadolint ignore=DL3013
RUN python -m venv /opt/contrafact && /opt/contrafact/bin/pip install --no-cache-dir --quiet uv
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY src ./src
ENV UV_PROJECT_ENVIRONMENT=/opt/contrafact UV_LINK_MODE=copy
RUN /opt/contrafact/bin/uv sync --quiet --frozen --inexact --no-editable --no-cache --extra full

FROM build AS build-studio
RUN /opt/contrafact/bin/uv sync --quiet --frozen --inexact --no-editable --no-cache --extra full --extra review

FROM python:3.12-slim-bookworm AS base
# llama.cpp's threads are OpenMP's.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1=12.2.0-* \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 contrafact \
    && mkdir /work /cache \
    && chown 10001:10001 /work /cache
ENV PATH=/opt/contrafact/bin:$PATH CONTRAFACT_CACHE=/cache PYTHONUNBUFFERED=1
WORKDIR /work

FROM base AS studio
COPY --from=build-studio /opt/contrafact /opt/contrafact
USER 10001
ENTRYPOINT ["contrafact"]
CMD ["review", "serve", "--help"]

FROM base AS cli
COPY --from=build /opt/contrafact /opt/contrafact
USER 10001
RUN contrafact models fetch smollm2-135m
ENTRYPOINT ["contrafact"]
CMD ["--help"]
