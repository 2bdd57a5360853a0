# syntax=docker/dockerfile:1
# One image, both roles: "docker run … windlass server" (the default) and "docker run … windlass agent".
# No terraform inside: the agent downloads and checks the version that a configuration asks for, or finds one on the PATH.

FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY . .
# What "windlass version" shows: docker build --build-arg COMMIT=$(git rev-parse --short=12 HEAD) …
ARG COMMIT=unknown
RUN npm run package -- --image /windlass --commit "$COMMIT"

FROM node:24-bookworm-slim
# git and ssh fetch sources, bubblewrap isolates jobs, tini reaps orphaned processes. npm and yarn are no longer needed.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git openssh-client tini \
  && rm -rf /var/lib/apt/lists/* /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn-* \
  && install -d -o 1000 -g 1000 -m 0700 /var/lib/windlass \
  && install -d -o 1000 -g 1000 -m 0711 /var/lib/windlass-agent \
  && ln -s /opt/windlass/bin/windlass /usr/local/bin/windlass
WORKDIR /opt/windlass
COPY --from=build /windlass ./
# The server listens on all addresses of the container, so it needs WINDLASS_PUBLIC_URL: the address that people and runners use.
ENV NODE_ENV=production \
  WINDLASS_HOST=0.0.0.0 \
  WINDLASS_DATA_DIR=/var/lib/windlass \
  WINDLASS_WORK_DIR=/var/lib/windlass-agent \
  WINDLASS_STOP_SECONDS=3600 \
  WINDLASS_LOG_FORMAT=json
# The server's user. An agent needs to be root to give each job a user of its own: --user 0 with six capabilities (docs/containers.md). As user 1000
# it starts only where the engine allows bubblewrap.
USER 1000:1000
VOLUME ["/var/lib/windlass", "/var/lib/windlass-agent"]
EXPOSE 8080
# A server responds at its port, an agent at a socket that its jobs cannot reach. This checks liveness, so an outage of the control plane
# restarts no agent. Podman reads it only from images that were built with --format docker: elsewhere, give it the same command (--health-cmd).
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD if [ -S "$WINDLASS_WORK_DIR/status.sock" ]; then exec windlass agent health; fi; exec windlass server health
# tini passes signals on. The first SIGTERM lets running jobs end; after WINDLASS_STOP_SECONDS they are cancelled, and an apply may take ten
# minutes more to stop. SIGKILL must come later than both: run the agent with --stop-timeout 4500 (Kubernetes: terminationGracePeriodSeconds).
ENTRYPOINT ["tini", "--", "windlass"]
CMD ["server"]
