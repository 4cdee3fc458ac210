/**
 * The cells of one server, in a process of its own: REDIS_SERVER_BIN names that server. Takes orders from `main.mjs`, and sends the
 * outcome of each cell.
 */
import { findRedisServer } from '@mortise/redis-server';
import { runPrograms } from './runs.mjs';
import { startTopology } from './topologies.mjs';

process.once('message', ({ topologies }) => void runAll(topologies));

async function runAll(topologies) {
  const { kind, version } = await findRedisServer();
  process.send({ kind, version });
  for (const { name, cells } of topologies) await runTopology(name, cells);
  process.disconnect();
}

async function runTopology(name, cells) {
  let topology;
  try {
    topology = await startTopology(name);
  } catch (error) {
    for (const { cell } of cells) process.send({ cell, state: 'not run', problems: [error.message] });
    return;
  }
  try {
    for (const { cell, runs } of cells) {
      const startedAt = performance.now();
      const problems = [];
      for (const run of runs) {
        for (const target of topology.targets) {
          const found = await runPrograms({ ...run, target });
          problems.push(...found.map((problem) => `${run.label}, ${target.kind}: ${problem}`));
        }
      }
      problems.push(...(topology.check?.() ?? []));
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      process.send({ cell, state: problems.length === 0 ? 'passed' : 'failed', problems, seconds });
    }
  } finally {
    await topology.stop();
  }
}
