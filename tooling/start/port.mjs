import { createServer } from 'node:net';

/** The wanted port if it is free, else the next free one, so that a second project on the machine does no harm. */
export async function acquirePort(wanted) {
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > 65_535) {
    throw new Error(`PORT must be a whole number from 1 to 65535, got ${process.env.PORT}`);
  }
  for (let port = wanted; port < Math.min(wanted + 100, 65_536); port += 1) {
    if (await isFree(port)) {
      if (port !== wanted) console.log(`  port ${wanted} is taken, using ${port}`);
      return port;
    }
  }
  throw new Error(`no free port from ${wanted} on; set PORT`);
}

function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
