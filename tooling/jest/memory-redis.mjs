// The server of a test run with MORTISE_CLIENT=memory: the one of @mortise/redis/testing, in a process of its own. Prints its URL.
import { listen, MemoryServer } from '../../packages/redis/dist/esm/testing/index.js';

const server = new MemoryServer(() => performance.timeOrigin + performance.now());
const { url } = await listen(server);
process.stdout.write(`${url}\n`);
// The run is over, in whichever way.
process.stdin.resume().on('end', () => process.exit());
