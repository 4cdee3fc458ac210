/**
 * Gives BullMQ's tests a client, and Redis the clock of the tests: many of them run under fake timers, and the engine takes the time
 * from Redis. So the scripts of this process read a key that has the fake time, and the client writes it before each call.
 */
import { setConnectionFactory } from 'bullmq-connection-factory';
import { Redis } from 'ioredis';
import * as scripts from '../../packages/queues/src/scripts.gen.ts';

const CLOCK = 'bullmq-tests:clock';
const TIME = "redis.call('TIME')";
const RealDate = Date;
const NOW = `(function()
local fake, real = redis.call('GET', '${CLOCK}'), ${TIME}
if fake then
return { tostring(math.floor(fake / 1000)), string.format('%.0f', fake % 1000 * 1000 + real[2] % 1000) }
end
return real
end)()`;

for (const { definition } of Object.values(scripts)) {
  definition.source = definition.source.replaceAll(TIME, NOW);
}

let sentTime;

class ClockedRedis extends Redis {
  sendCommand(command, stream) {
    if (command.name.startsWith('eval')) this.#sendTime();
    return super.sendCommand(command, stream);
  }

  #sendTime() {
    const now = Date === RealDate ? undefined : Math.floor(Date.now());
    if (now === sentTime) return;
    sentTime = now;
    if (now === undefined) void this.call('DEL', CLOCK);
    else void this.call('SET', CLOCK, String(now));
  }

  duplicate(options) {
    return new ClockedRedis({ ...this.options, ...options });
  }
}

setConnectionFactory(() => {
  const redis = new ClockedRedis(process.env.BULLMQ_TESTS_REDIS, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  return redis;
});
