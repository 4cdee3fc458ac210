/** A process need not stop a cache to end: what the near tier has open goes with the client that it was given. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startCluster, startProxy, startSingle } from '@mortise/redis-server';
import { freshPrefix } from '@mortise/test-kit';

interface Node {
  readonly host: string;
  readonly port: number;
}

/** Resolves to the exit code. */
async function exitOf(nodes: readonly Node[], how: string, before?: () => unknown): Promise<number> {
  const options = JSON.stringify({
    nodes: nodes.map(({ host, port }) => ({ host, port })),
    prefix: freshPrefix(),
  });
  const child = fork(join(import.meta.dirname, 'near-process.mjs'), [options], { execArgv: [] });
  try {
    const exited = once(child, 'exit');
    await Promise.race([
      once(child, 'message'),
      exited.then(() => Promise.reject(new Error('it has ended'))),
    ]);
    await before?.();
    child.send(how);
    const [code] = (await exited) as [number];
    return code;
  } finally {
    child.kill('SIGKILL');
  }
}

test.each(['quit', 'disconnect'])('a process ends when it closes its client (%s)', async (how) => {
  const server = await startSingle();
  try {
    expect(await exitOf([server], how)).toBe(0);
  } finally {
    await server.stop();
  }
});

test('a process ends when it closes a client that has lost its server', async () => {
  const server = await startSingle();
  const proxy = await startProxy({ port: server.port });
  try {
    expect(await exitOf([proxy], 'disconnect', () => server.kill())).toBe(0);
  } finally {
    await proxy.stop();
    await server.stop();
  }
});

test('a process ends when it closes its Cluster', async () => {
  const cluster = await startCluster();
  try {
    expect(await exitOf(cluster.startupNodes, 'quit')).toBe(0);
  } finally {
    await cluster.stop();
  }
});
