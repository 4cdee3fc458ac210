// The server of a test run with MORTISE_CLIENT=memory: the one of @mortise/redis/testing, in a process of its own. Prints its URL.
import { MemoryRedis } from '../../packages/redis/dist/esm/testing/index.js';

const redis = new MemoryRedis({ clock: 'system' });
const url = await redis.listen();
process.stdout.write(`${url}\n`);
// The run is over, in whichever way.
process.stdin.resume().on('end', () => process.exit());
