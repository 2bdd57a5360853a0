#!/bin/sh
# Creates the role of the servers and its role for people (docs/postgresql.md), when the database is created.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$(cat "$SERVER_PASSWORD_FILE")" \
  --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
create role windlass login password :'password';
create role windlass_people;
grant windlass_people to windlass;
SQL
