/**
 * A script, a coalescer and a waiter together. Visitors arrive at doors: calls of one tick travel in one script call for each
 * door. A host waits for them without polling.
 */
import { Coalescer, KeySpace, Script, WaiterHub } from '@mortise/redis';
import { Redis } from 'ioredis';

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const space = new KeySpace('example');
const hub = WaiterHub.of(redis);

/** In a package the text lies in `door.arrive.lua`, and this constant is made from it. */
const doorArrive = new Script({
  name: 'door.arrive',
  isReadOnly: false,
  keys: ['visitors'],
  args: ['publish', 'channel'],
  restArg: 'names',
  source: `#!lua
local visitors = KEYS[1]
local publish, channel = ARGV[1], ARGV[2]
local places = {}
for i = 3, #ARGV do
  places[#places + 1] = redis.call('RPUSH', visitors, ARGV[i])
end
redis.call('EXPIRE', visitors, 60)
redis.call(publish, channel, '*:' .. #places)
return places
`,
} as const);

const arrivals = new Coalescer<string, string, number>(
  async (door, names) => {
    const keys = space.entity(door);
    console.log(`one script call: ${names.join(', ')} at ${door}`);
    const args = { publish: hub.publishCommand, channel: keys.key('arrivals'), names };
    return (await doorArrive.run(redis, { visitors: keys.key('visitors') }, args)) as number[];
  },
  { maxBatch: 500 },
);

async function answerTheDoor(door: string): Promise<void> {
  const keys = space.entity(door);
  // Subscribe, look, wait: a visitor after the look wakes the host.
  using waiter = await hub.waiter(keys.key('arrivals'), 'host');
  for (;;) {
    const visitors = await redis.lpop(keys.key('visitors'), 100);
    if (visitors) return console.log(`${door} lets in ${visitors.join(' and ')}`);
    // A wake-up may be lost: look again after at most five seconds.
    await waiter.next({ deadlineAt: performance.now() + 5_000 });
  }
}

const host = answerTheDoor('front door');
const places = await Promise.all([
  arrivals.submit('front door', 'Ada'),
  arrivals.submit('front door', 'Grace'),
  arrivals.submit('back {door}', 'Edsger'),
]);
await host;
console.log(`places in the queues: ${places.join(' ')}`);

await redis.del(space.entity('back {door}').key('visitors'));
await redis.quit();

// Output:
// one script call: Ada, Grace at front door
// one script call: Edsger at back {door}
// front door lets in Ada and Grace
// places in the queues: 1 2 1
