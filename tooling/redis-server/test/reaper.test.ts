import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@mortise/server-process';

import { isGone } from './processes.js';

interface Started {
  pids: number[];
  directories: string[];
}

const INDEX = new URL('../dist/index.js', import.meta.url).href;
const REAPER = fileURLToPath(new URL('../../server-process/src/reaper.mjs', import.meta.url));

function gone({ pids, directories }: Started): Promise<boolean> {
  return until(() => pids.every(isGone) && !directories.some((path) => existsSync(path)), {
    what: 'servers and directories to be gone',
  });
}

describe('the reaper', () => {
  const children: ChildProcess[] = [];
  let kept: string | undefined;
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    if (kept !== undefined) await rm(kept, { recursive: true });
    kept = undefined;
  });

  /** Runs a program that starts servers and reports them by `report(servers)`, in a process of its own. */
  const parent = async (body: string): Promise<{ child: ChildProcess; started: Started }> => {
    const program = `
      import { startCluster, startSingle } from '${INDEX}';
      const report = (servers) => console.log(JSON.stringify({
        pids: servers.map(({ pid }) => pid), directories: servers.map(({ directory }) => directory) }));
      const keepAlive = () => setInterval(() => {}, 1000);
      ${body}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    return { child, started: JSON.parse(line) as Started };
  };
  it('kills the servers and removes the directories of a process that was killed', async () => {
    const { child, started } = await parent(`
      const cluster = await startCluster({ masters: 2, replicasPerMaster: 0 });
      const [running, paused, killed, stopped] = await Promise.all([0, 1, 2, 3].map(() => startSingle()));
      paused.pause();
      await killed.kill();
      await stopped.stop();
      report([...cluster.nodes, running, paused, killed, stopped]);
      keepAlive();`);
    expect(started.pids.map(isGone)).toEqual([false, false, false, false, true, true]);
    expect(started.directories.map((path) => existsSync(path))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ]);

    child.kill('SIGKILL');

    expect(await gone(started)).toBe(true);
  });

  it("lets a process that stopped nothing end, and cleans up after it, but keeps the caller's directory", async () => {
    kept = await mkdtemp(join(tmpdir(), 'mortise-test-'));
    const { child, started } = await parent(`
      const servers = [await startSingle(), await startSingle({ directory: '${kept}', appendFsync: 'everysec' })];
      report(servers);`);

    const [code] = (await once(child, 'exit')) as [number];

    expect(code).toBe(0);
    expect(await gone({ pids: started.pids, directories: started.directories.slice(0, 1) })).toBe(true);
    expect(existsSync(join(kept, 'appendonlydir'))).toBe(true);
  });

  it("doesn't kill a process that has got the pid of a server", async () => {
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const reaper = spawn(process.execPath, [REAPER], { stdio: ['pipe', 'ignore', 'inherit'] });
    children.push(stranger, reaper);
    reaper.stdin.end(`${JSON.stringify(['process', stranger.pid, '/tmp/mortise-redis-of-a-server'])}\n`);

    const [code] = (await once(reaper, 'exit')) as [number];

    expect(code).toBe(0);
    expect(isGone(stranger.pid!)).toBe(false);
  });
});
