// Cleans up after a process that could not do it itself: it was killed, or it ended without stopping its servers. The parent
// holds the other end of stdin and writes one JSON array a line; when the parent is gone, for whatever reason, the kernel closes
// the pipe, and what is still registered is killed and removed.
//
//   ["process", pid, directory]   a server was started; its command line contains the directory
//   ["exited", pid]
//   ["directory", path]           a temporary directory was made
//   ["removed", path]
//
// Plain JavaScript, because it must run as it lies both beside dist/ and from the sources that jest compiles in memory.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

const GONE_DEADLINE_MS = 3000;

/** @type {Map<number, string>} */
const servers = new Map();
/** @type {Set<string>} */
const directories = new Set();

for await (const line of createInterface({ input: process.stdin })) {
  const [what, subject, directory] = JSON.parse(line);
  if (what === 'process') servers.set(subject, directory);
  else if (what === 'exited') servers.delete(subject);
  else if (what === 'directory') directories.add(subject);
  else if (what === 'removed') directories.delete(subject);
}

const isServer = ([pid, directory]) => commandLine(pid).includes(directory);
for (const server of servers) {
  if (isServer(server)) kill(server[0]);
}
const deadline = performance.now() + GONE_DEADLINE_MS;
while ([...servers].some(isServer) && performance.now() < deadline) await wait(5);
for (const directory of directories) rmSync(directory, { recursive: true, force: true, maxRetries: 5 });

/** @param {number} pid which may have ended by itself meanwhile */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * The arguments a process was started with, or '' when there is none. This is what tells our server from another process
 * that was given its pid. A process that is dead but not yet waited for has none.
 *
 * @param {number} pid
 */
function commandLine(pid) {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}
