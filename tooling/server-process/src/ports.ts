// Ports for servers. A node of a cluster listens on two: its own, and 10000 above for the bus. They are taken at random from
// 12000-21999, so that the buses are at 22000-31999: the two ranges don't meet, both lie below the range from which the kernel
// takes the ports of outgoing connections (32768 up on Linux, 49152 on macOS), and two test processes rarely choose the same.
// When they do, one server fails to listen and is started again on another port. Rejected: port 0, since Redis has no such
// thing, and what the kernel hands out can be taken by any outgoing connection before Redis listens.

import { createServer } from 'node:net';

const FIRST = 12_000;
const COUNT = 10_000;
const BUS_OFFSET = 10_000;
const ATTEMPTS = 100;

/** Ports that this process has handed out: two servers that start at once must not be given the same one. */
const taken = new Set<number>();

/** A port of 127.0.0.1 that is free now, with its bus port free too when `hasBus`. */
export async function freePort(hasBus: boolean): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (taken.has(port)) continue;
    taken.add(port);
    if ((await isFree(port)) && (!hasBus || (await isFree(port + BUS_OFFSET)))) return port;
    taken.delete(port);
  }
  throw new Error(`no free port found in ${FIRST}-${FIRST + COUNT - 1} after ${ATTEMPTS} attempts`);
}

/** Makes a port available to {@link freePort} again. */
export function releasePort(port: number): void {
  taken.delete(port);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
