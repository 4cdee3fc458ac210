// A process that fills its near tier, then closes its client in the given way, and does nothing more: it has to end by itself.
import { Cache } from '@mortise/cache';
import { Cluster, Redis } from 'ioredis';

const { nodes, prefix } = JSON.parse(process.argv[2]);
const redis = nodes.length > 1 ? new Cluster(nodes) : new Redis(nodes[0]);
redis.on('error', () => undefined);
const cache = new Cache(redis, 'pages', { prefix, near: {}, onError: () => undefined });
while (cache.peek('tools') === undefined) await cache.getOrLoad('tools', () => 'saws');

process.once('message', (how) => {
  process.disconnect();
  if (how === 'quit') void redis.quit();
  else redis.disconnect();
});
process.send('near');
