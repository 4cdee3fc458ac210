import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startSingle } from '../redis-server/dist/index.js';

// Tests read MORTISE_TEST_REDIS; a server that the developer names with REDIS_URL is used as it is.
export default async function startRedis() {
  if (process.env.REDIS_URL) {
    process.env.MORTISE_TEST_REDIS = process.env.REDIS_URL;
    return;
  }
  // npm run test:memory
  const server =
    process.env.MORTISE_CLIENT === 'memory' ? await startMemory() : await startSingle({ isCluster: true });
  process.env.MORTISE_TEST_REDIS = server.url;
  globalThis.mortiseTestRedis = server;
}

async function startMemory() {
  const program = fileURLToPath(new URL('memory-redis.mjs', import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [printed] = await once(child.stdout, 'data');
  return { url: String(printed).trim(), stop: () => child.kill() };
}
