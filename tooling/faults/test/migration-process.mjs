/**
 * A process of the test of `mortise-queues migrate`, for kills: a producer of BullMQ or bee-queue, or a worker of either
 * library. The argument is JSON.
 * Everything that it does stands in Redis, in the order in which it happened.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from '@mortise/queues';
import BeeQueue from 'bee-queue';
import { Queue as BullQueue, Worker as BullWorker } from 'bullmq';
import { Redis } from 'ioredis';

const { role, url, prefix, oldPrefix, queue, jobs } = JSON.parse(process.argv[2]);
const BATCH = 20;
const LEASE_MS = 1_000;
const redis = new Redis(url, { maxRetriesPerRequest: null });
const connection = { url, maxRetriesPerRequest: null };

async function run(id) {
  await redis.rpush(`${prefix}:log`, `begin ${id} ${process.pid} ${role}`);
  await pause(3);
  await redis.rpush(`${prefix}:log`, `end ${id} ${process.pid} ${role}`);
}

/** A producer that died does not know which of its last jobs are stored, and adds none of them again. */
async function produce() {
  const bull = new BullQueue(queue, { connection, prefix: oldPrefix });
  for (;;) {
    const end = await redis.incrby(`${prefix}:reserved`, BATCH);
    if (end > jobs) break;
    const batch = Array.from({ length: BATCH }, (_, index) => end - BATCH + index);
    await bull.addBulk(batch.map((n) => ({ name: 't', data: { n }, opts: optionsOf(n) })));
    await redis.sadd(`${prefix}:accepted`, ...batch.map((n) => `j${n}`));
    await pause(10);
  }
  await bull.close();
  await redis.quit();
}

/** Lost leases count as attempts. */
function optionsOf(n) {
  const options = { jobId: `j${n}`, attempts: 20 };
  if (n % 10 === 3) return { ...options, priority: 1 + (n % 7) };
  return n % 10 === 7 ? { ...options, delay: n % 2_000 } : options;
}

/** The same for bee-queue. */
async function produceForBees() {
  const bees = new BeeQueue(queue, { redis: { url }, prefix: oldPrefix, isWorker: false, getEvents: false });
  for (;;) {
    const end = await redis.incrby(`${prefix}:reserved`, BATCH);
    if (end > jobs) break;
    const batch = Array.from({ length: BATCH }, (_, index) => end - BATCH + index);
    const made = batch.map((n) => {
      const job = bees.createJob({ n }).setId(`j${n}`).retries(19);
      return n % 10 === 7 ? job.delayUntil(Date.now() + (n % 2_000)) : job;
    });
    await Promise.all(made.map((job) => job.save()));
    await redis.sadd(`${prefix}:accepted`, ...batch.map((n) => `j${n}`));
    await pause(10);
  }
  await bees.close();
  await redis.quit();
}

const ROLES = {
  producer: produce,
  beeProducer: produceForBees,
  bee: async () => {
    const settings = { stallInterval: LEASE_MS, activateDelayedJobs: true, removeOnSuccess: true };
    const bees = new BeeQueue(queue, { redis: { url }, prefix: oldPrefix, ...settings });
    bees.on('error', () => undefined);
    bees.process(2, ({ id }) => run(id));
    for (;;) {
      await bees.checkStalledJobs();
      await pause(LEASE_MS / 2);
    }
  },
  bull: async () => {
    const locks = { lockDuration: LEASE_MS, stalledInterval: LEASE_MS / 2, maxStalledCount: 100 };
    const worker = new BullWorker(queue, ({ id }) => run(id), {
      connection,
      prefix: oldPrefix,
      concurrency: 2,
      ...locks,
    });
    worker.on('error', () => undefined);
  },
  mortise: async () => {
    const handlers = { t: (_payload, { id }) => run(id) };
    const worker = new Worker(redis, [queue], handlers, { prefix, concurrency: 40, leaseMs: LEASE_MS });
    await worker.start();
  },
};

await ROLES[role]();
