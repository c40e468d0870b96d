# pgrecall as an image: `docker compose up` builds it. EXTRAS chooses what it can do; PIP_INDEX_URL and
# PIP_EXTRA_INDEX_URL are handed to pip, for instance to have torch built for the CPU alone.
FROM python:3.12-slim AS build
ARG EXTRAS=local,http,mcp
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
RUN python -m venv /opt/pgrecall
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY pgrecall ./pgrecall
RUN /opt/pgrecall/bin/pip install --no-cache-dir ".[${EXTRAS}]"

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home pgrecall
COPY --from=build /opt/pgrecall /opt/pgrecall
ENV PATH=/opt/pgrecall/bin:$PATH PYTHONUNBUFFERED=1
USER pgrecall
WORKDIR /home/pgrecall
ENTRYPOINT ["pgrecall"]
CMD ["--help"]
