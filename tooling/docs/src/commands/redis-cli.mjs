/** Sends its arguments as a command: not every machine that has a Redis has redis-cli. Settings go to a server of their own. */
import { Redis } from 'ioredis';

const redis = new Redis(process.env['CONFIGURED_URL']);
console.log(await redis.call(...process.argv.slice(2)));
redis.disconnect();
