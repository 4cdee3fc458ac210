import { startSingle } from '../redis-server/dist/index.js';

// Tests read MORTISE_TEST_REDIS; a server that the developer names with REDIS_URL is used as it is.
export default async function startRedis() {
  if (process.env.REDIS_URL) {
    process.env.MORTISE_TEST_REDIS = process.env.REDIS_URL;
    return;
  }
  const server = await startSingle({ isCluster: true });
  process.env.MORTISE_TEST_REDIS = server.url;
  globalThis.mortiseTestRedis = server;
}
