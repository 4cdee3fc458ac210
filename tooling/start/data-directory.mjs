import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * One `npm start` per data directory: two servers would write the same append-only file. Returns how to give it up.
 * A claim of a process that no longer lives is taken over.
 */
export function claimDataDirectory(directory) {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'running.pid');
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    const pid = Number(readFileSync(file, 'utf8'));
    if (isAlive(pid)) {
      console.error(`Mortise is already running here (process ${pid}). Stop it first, or set MORTISE_DATA.`);
      process.exit(1);
    }
    writeFileSync(file, String(process.pid));
  }
  return () => rmSync(file, { force: true });
}

function isAlive(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
