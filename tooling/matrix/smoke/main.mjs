/**
 * Runs the smoke program of each named package (`node main.mjs locks queues`), and prints a line of JSON for each. Every verb of a
 * package is called at least once, from the package as it is installed, and what it returned is asserted.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { connections } from './connect.mjs';

const LIMIT_MS = 120_000;

/** Waits until a condition holds. */
async function until(condition, what) {
  const endsAt = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > endsAt) throw new Error(`waited 20 s in vain for ${what}`);
    await setTimeout(10);
  }
}

async function run(name) {
  const { smoke } = await import(`./${name}.mjs`);
  const { close, ...target } = await connections();
  const startedAt = performance.now();
  try {
    const verbs = await smoke({ ...target, until, prefix: `matrix-${randomUUID()}` });
    const missing = verbs.missing();
    const problem = missing.length === 0 ? undefined : `verbs never called: ${missing.join(', ')}`;
    return {
      name,
      isPassed: missing.length === 0,
      verbs: verbs.count,
      problem,
      ms: performance.now() - startedAt,
    };
  } catch (error) {
    return {
      name,
      isPassed: false,
      problem: error?.stack ?? String(error),
      ms: performance.now() - startedAt,
    };
  } finally {
    await close();
  }
}

/** A program that hangs becomes a failure with a name. */
const names = process.argv.slice(2);
for (const name of names) {
  const result = await Promise.race([
    run(name),
    setTimeout(
      LIMIT_MS,
      { name, isPassed: false, problem: `not over after ${LIMIT_MS / 1000} s` },
      { ref: false },
    ),
  ]);
  console.log(JSON.stringify(result));
  if (!result.isPassed) process.exitCode = 1;
}
// A process that a failed program left running would hold this one.
process.exit();
