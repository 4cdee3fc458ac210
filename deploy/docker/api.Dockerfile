# The API. Build it at the root of the repository: docker build -f deploy/docker/api.Dockerfile -t mortise-api .
# RUN names no absolute path, so that a test can replay the steps without docker.

FROM node:24-bookworm-slim AS tools
RUN npm install --global pnpm@12.21.0 turbo@2.11.11
# The pnpmfile serves the benchmarks, which turbo prunes.
ENV CI=true pnpm_config_ignore_pnpmfile=true TURBO_TELEMETRY_DISABLED=1
WORKDIR /app

FROM tools AS prune
COPY . ./
# Every build runs @mortise/lua and @mortise/package-build by path.
RUN turbo prune @mortise/api @mortise/console-page @mortise/lua @mortise/package-build --docker

FROM tools AS build
# Manifests first: the layer of the installation lasts until one of them changes.
COPY --from=prune /app/out/json/ ./
RUN pnpm install --frozen-lockfile --ignore-scripts
COPY --from=prune /app/out/full/ ./
# Else turbo hides pnpm_config_ignore_pnpmfile from pnpm.
RUN pnpm exec turbo run build --filter=@mortise/api --filter=@mortise/console-page --env-mode=loose
RUN pnpm --filter @mortise/api deploy --prod production

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 METRICS_PORT=3002
WORKDIR /app
COPY --from=build /app/production/ ./
USER node
EXPOSE 3000 3002
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/live').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
