/** A process that sends logs, counts their lines or copies them. Its argument says which; tests kill it. */
import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileReceiver, FileSender, type IncomingFile } from '@mortise/messaging/files';
import { LogCollector, readRangeCsv } from '@mortise/messaging/log-aggregation';
import { connectTo } from '../connect.js';
import type { ActorConfig, ActorMessage, Order } from './config.js';
import { CHANNEL, CHECKPOINT_BYTES, FORGET_MS, isCopiedByLines, LIMITS, MARKER_MS } from './config.js';
import { sabotage } from './sabotage.js';

const AFTER_ERROR_MS = 20;
const NEWLINE = '\n';

const config = JSON.parse(process.argv[2]!) as ActorConfig;
const { role, name, receivers, directory, prefix } = config;
let { pauseMs } = config;
if (config.sabotage !== undefined) sabotage(config.sabotage);
const redis = connectTo(config.redis);
const ending = new AbortController();

// Without a parent there is nothing to do.
process.on('disconnect', () => process.exit(1));
process.on('message', (order: Order) => {
  if (order === 'stop') ending.abort();
  else pauseMs = 0;
});

// A directory may begin while a server refuses everything, such as with a full disk.
await repeated(() => redis.ping());
tell('ready');
await { send, count, copy }[role]();
redis.disconnect();
process.exit(0);

async function send(): Promise<void> {
  const sender = new FileSender(redis, CHANNEL, { ...LIMITS, prefix, receivers });
  await repeated(async () => {
    await sender.sendDirectory(directory);
    await sender.end();
    await sender.received();
  });
  tell('done');
}

/** Counts as the worker app does. */
async function count(): Promise<void> {
  const collector = new LogCollector(redis, CHANNEL, name, await readRangeCsv(config.ranges), {
    prefix,
    share: config.share,
    leaseMs: LIMITS.leaseMs,
    checkpointBytes: CHECKPOINT_BYTES,
    markerMs: MARKER_MS,
    forgetMs: FORGET_MS,
    onError: note,
  });
  collector.start();
  while (!ending.signal.aborted) await sleep(AFTER_ERROR_MS);
  await collector.stop();
}

/** Writes each block to its offset, before it asks for the next one, which acks the block. */
async function copy(): Promise<void> {
  const receiver = new FileReceiver(redis, CHANNEL, name, { prefix, leaseMs: LIMITS.leaseMs });
  await repeated(async () => {
    for await (const file of receiver.files()) {
      const target = openSync(join(directory, file.name), 'as+');
      closeSync(target);
      const output = openSync(join(directory, file.name), 'r+');
      try {
        await (isCopiedByLines(file.name) ? copyLines(file, output) : copyBlocks(file, output));
      } finally {
        closeSync(output);
      }
      await file.done();
    }
  });
}

async function copyBlocks(file: IncomingFile, output: number): Promise<void> {
  for await (const block of file.blocks({ gunzip: false })) {
    writeSync(output, block, 0, block.length, file.offset - block.length);
    await sleep(pauseMs);
  }
}

async function copyLines(file: IncomingFile, output: number): Promise<void> {
  let bytes = 0;
  for await (const text of file.lines()) {
    const line = Buffer.from(text + NEWLINE);
    writeSync(output, line, 0, line.length, file.offset - line.length);
    bytes += line.length;
    if (bytes < LIMITS.chunkBytes) continue;
    bytes -= LIMITS.chunkBytes;
    await sleep(pauseMs);
  }
}

async function repeated(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      note(error);
      await sleep(AFTER_ERROR_MS);
    }
  }
}

/** Notes the code of an error, or its message: ERR_INVALID_ARG has many. */
function note(error: unknown): void {
  const { code, message } = error as { code?: string; message?: string };
  const text = code === 'ERR_INVALID_ARG' ? message : (code ?? message);
  appendFileSync(config.notes, `${name}: ${text ?? String(error)}\n`);
}

function tell(message: ActorMessage): void {
  process.send!(message);
}
