/**
 * `npm run test:memory -- [package …]`: the suites of the packages on the engine in memory of @mortise/redis/testing, and a line for each
 * package. A failure that isn't in `tooling/test-kit/memory.json` fails the run; so does an entry there whose test passes or is gone.
 */
import { runWithClient } from './run-with-client.mjs';

runWithClient('memory', {
  packages: ['locks', 'queues', 'messaging', 'autocomplete', 'cache'],
  ignored: [
    // They start real servers of their own.
    '\\.cluster\\.test\\.ts$',
    '\\bfault\\.test\\.ts$',
    '/test/node-redis/',
    '/test/quorum/',
    '/test/replication/',
    // The scripts of BullMQ use more of Lua.
    '/test/migrate/',
    '/test/bullmq/order',
    // Client-side caching isn't emulated: each of these waits for its time limit.
    '/cache/test/near/',
  ],
});
