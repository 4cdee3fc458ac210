import { FileReceiver, FileSender } from '@mortise/messaging/files';
import { Redis } from 'ioredis';
import { versionOf } from '../../../version-of.js';
import type { FileKind } from '../kind.js';
import { CHANNEL, WINDOW_BYTES } from '../kind.js';

const NAME = '@mortise/messaging';

export const MORTISE: FileKind = {
  name: NAME,
  version: versionOf(NAME),
  send: async (url, directory, receivers) => {
    const redis = new Redis(url);
    const sender = new FileSender(redis, CHANNEL, { receivers, windowBytes: WINDOW_BYTES });
    await sender.sendDirectory(directory);
    await sender.end();
    await sender.received();
    redis.disconnect();
  },
  receive: async (url, name, { block: take, line: takeLine }) => {
    const redis = new Redis(url);
    for await (const file of new FileReceiver(redis, CHANNEL, name).files()) {
      if (take) for await (const block of file.blocks()) take(block);
      else for await (const line of file.lines()) takeLine!(line);
      await file.done();
    }
    redis.disconnect();
  },
};
