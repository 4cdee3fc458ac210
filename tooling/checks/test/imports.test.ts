/** Folders import in one direction, and an entry of a package loads only the folders that it needs. */
import { expect, test } from '@jest/globals';
import { circlesIn, loadedByEntry, SOURCES } from '../src/imports.js';
import { PACKAGES } from '../src/repository.js';

test.each(SOURCES)('%s: no folder and no file beside it import each other', (source) => {
  expect(circlesIn(source)).toEqual([]);
});

test('an entry loads the folders of its package that it needs, and few other packages', () => {
  const lines = PACKAGES.flatMap((name) =>
    Object.entries(loadedByEntry(name)).map(([entry, loaded]) => `${name}${entry.slice(1)}: ${loaded}`),
  );
  expect(lines.join('\n')).toMatchInlineSnapshot(`
"redis: - | -
redis/codecs: codecs | -
redis/nestjs: nestjs | @nestjs/common
redis/node-redis: node-redis | -
redis/otel: otel | -
redis/testing: testing | -
locks: acquire count-down-latch lease multi-lock mutex rate-limiter read-write-lock replication semaphore telemetry | @mortise/redis
locks/express: acquire http rate-limiter telemetry | @mortise/redis
locks/fastify: acquire http rate-limiter telemetry | @mortise/redis
locks/nestjs: acquire count-down-latch lease multi-lock mutex nestjs quorum rate-limiter read-write-lock replication semaphore telemetry | @mortise/redis @mortise/redis/nestjs @nestjs/common
locks/node-redis: node-redis | @mortise/redis/node-redis
locks/otel: otel | @mortise/redis/otel
locks/quorum: acquire lease quorum telemetry | @mortise/redis
locks/testing: testing | @mortise/redis/testing
queues: claims enqueue events flow inspect operate removal results schedule shard task work | @mortise/redis
queues/admin: admin operate task | @mortise/redis
queues/bullmq: bullmq claims enqueue events flow inspect operate removal schedule shard task work | @mortise/redis croner ioredis
queues/codecs: codecs | @mortise/redis/codecs
queues/nestjs: claims enqueue events flow inspect nestjs operate removal results schedule shard task work | @mortise/redis @mortise/redis/nestjs @nestjs/common @nestjs/core
queues/nestjs/bullmq: bullmq claims enqueue events flow inspect nestjs operate removal schedule shard task work | @mortise/redis @nestjs/bullmq @nestjs/common @nestjs/core croner ioredis
queues/node-redis: node-redis | @mortise/redis/node-redis
queues/otel: otel | @mortise/redis/otel
queues/sandbox: sandbox | @mortise/redis
queues/testing: enqueue events flow inspect operate removal results schedule shard task testing work | @mortise/redis @mortise/redis/testing
messaging: follow log mailbox members post pull telemetry wait | @mortise/redis
messaging/codecs: codecs | @mortise/redis/codecs
messaging/files: files | @mortise/redis
messaging/log-aggregation: files log-aggregation | @mortise/redis
messaging/nestjs: files follow log mailbox members nestjs post pull telemetry wait | @mortise/redis @mortise/redis/nestjs @nestjs/common
messaging/node-redis: node-redis | @mortise/redis/node-redis
messaging/otel: otel | @mortise/redis/otel
messaging/testing: testing | @mortise/redis/testing
autocomplete: book contacts text | @mortise/redis
autocomplete/nestjs: book contacts nestjs text | @mortise/redis @mortise/redis/nestjs @nestjs/common
autocomplete/node-redis: node-redis | @mortise/redis/node-redis
autocomplete/otel: otel | @mortise/redis/otel
autocomplete/testing: testing | @mortise/redis/testing
cache: near read-through telemetry | @mortise/redis
cache/keyv: keyv near read-through telemetry | @mortise/redis
cache/loads: loads near read-through | @mortise/redis
cache/nestjs: near nestjs read-through rows telemetry | @mortise/redis @mortise/redis/nestjs @nestjs/common
cache/next: next read-through | @mortise/redis
cache/node-redis: node-redis | @mortise/redis/node-redis
cache/otel: otel | @mortise/redis/otel
cache/postgres: sql | @mortise/redis pg
cache/rows: rows telemetry | @mortise/redis
cache/sqlite: sql | @mortise/redis libsql/promise
cache/testing: testing | @mortise/redis/testing
console: http live page queues | @mortise/queues @mortise/queues/admin @mortise/redis
client: - | -
client/react: react | react"
`);
});
