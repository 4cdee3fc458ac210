/** The suite that Keyv has for stores: its calls, values and namespaces. */
import { KeyvStore } from '@mortise/cache/keyv';
import keyvTestSuite from '@keyv/test-suite';
import { Redis } from 'ioredis';
import { Keyv } from 'keyv';
import * as vitest from 'vitest';

const redis = new Redis(process.env.REDIS_URL);
vitest.afterAll(() => redis.quit());

keyvTestSuite(vitest, Keyv, () => new KeyvStore(redis, 'suite', { prefix: process.env.PREFIX }));
