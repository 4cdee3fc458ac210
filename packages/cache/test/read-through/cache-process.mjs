// A process that begins to load a page, says so, and never ends.
import { Cache } from '@mortise/cache';
import { Redis } from 'ioredis';

const { url, prefix, leaseMs } = JSON.parse(process.argv[2]);
const cache = new Cache(new Redis(url), 'pages', { prefix, leaseMs });

void cache.getOrLoad('tools', () => {
  process.send('loading');
  return new Promise(() => undefined);
});
