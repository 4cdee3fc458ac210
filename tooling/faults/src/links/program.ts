/** A process with a proxy before each server of a run, so that its links can be half open, slow or lossy. */
import type { TcpProxy } from '@mortise/redis-server';
import { startProxy } from '@mortise/redis-server';
import type { LinkOrder, LinksConfig, LinksReady } from './config.js';

const { ports } = JSON.parse(process.argv[2]!) as LinksConfig;
process.on('disconnect', () => process.exit(0));
const proxies = new Map<number, TcpProxy>();
for (const port of ports) proxies.set(port, await startProxy({ port }));
process.on('message', (order: LinkOrder) => void obey(order));
process.send!(
  Object.fromEntries(Array.from(proxies, ([port, proxy]) => [port, proxy.port])) satisfies LinksReady,
);

async function obey({ port, mode, requestsMs = 0, repliesMs = 0 }: LinkOrder): Promise<void> {
  const proxy = proxies.get(port)!;
  if (mode === 'half-open') proxy.halfOpen();
  else if (mode === 'lost replies') proxy.dropReplies();
  else if (mode === 'delayed') proxy.delay({ requestsMs, repliesMs });
  else await proxy.restore();
}
