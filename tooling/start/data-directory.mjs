import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One `npm start` per data directory: two servers would write the same append-only file. Returns how to give it up.
 * A claim of a process that no longer lives is taken over, also when another program has been given its pid since.
 */
export function claimDataDirectory(directory) {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'running.pid');
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const pid = Number(readFileSync(file, 'utf8'));
    if (isStart(pid)) {
      console.error(`Mortise is already running here (process ${pid}, says ${file}).`);
      console.error('Stop it first, or set MORTISE_DATA to another directory.');
      process.exit(1);
    }
    writeFileSync(file, String(process.pid));
  }
  return () => rmSync(file, { force: true });
}

/** Whether the process runs this program. */
function isStart(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  return commandLine(pid).includes(join('start', 'start.mjs'));
}

function commandLine(pid) {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
