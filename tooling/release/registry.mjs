/** A registry of its own on this machine: what is published there is seen by nobody else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run, tool } from './tools.mjs';

const START_MS = 60_000;

/** Other packages than ours come from the registry that npm is set to. */
const configOf = (directory, upstream) => `
storage: ${join(directory, 'storage')}
auth: { htpasswd: { file: ${join(directory, 'htpasswd')} } }
uplinks: { upstream: { url: '${upstream}' } }
packages:
  '@mortise/*': { access: $all, publish: $all }
  '**': { access: $all, proxy: upstream }
log: { type: stdout, format: json, level: error }
`;

/** @returns its address, the environment in which npm uses it, and `stop` */
export async function startRegistry(directory) {
  mkdirSync(directory, { recursive: true });
  const upstream = run(['npm', ['config', 'get', 'registry']]).trim();
  writeFileSync(join(directory, 'config.yaml'), configOf(directory, upstream));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const [command, args] = tool(
    'verdaccio',
    '--config',
    join(directory, 'config.yaml'),
    '--listen',
    `127.0.0.1:${port}`,
  );
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  const ended = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null) child.kill();
    await ended;
  };
  const deadline = performance.now() + START_MS;
  while (!(await isUp(url))) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await stop();
      throw new Error(`the registry didn't start:\n${said}`);
    }
    await sleep(200);
  }
  // npm publishes nothing without a token, whatever it says.
  const npmrc = join(directory, 'npmrc');
  writeFileSync(npmrc, `registry=${url}\n//127.0.0.1:${port}/:_authToken=none\n`);
  return { url, env: { ...process.env, npm_config_userconfig: npmrc, npm_config_registry: url }, stop };
}

async function isUp(url) {
  try {
    return (await fetch(`${url}-/ping`)).ok;
  } catch {
    return false;
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}
