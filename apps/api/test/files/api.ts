/** Channels of files at a process that gives up soon what stands still, and at a patient one. */
import { connect } from '@mortise/test-kit';

import { startApi } from '../fixture/api.js';
import { MIB, RemoteChannel } from '../fixture/files.js';
import { keysOf } from '../fixture/redis.js';

const WINDOW = { FILE_WINDOW_BYTES: String(4 * MIB), STREAM_TIMEOUT_MS: '60000' };
export const redis = connect();
export const api = await startApi({
  ...WINDOW,
  FILE_BUDGET_BYTES: String(8 * MIB),
  FILE_TIMEOUT_MS: '300',
  FILE_RESUME_MS: '500',
});
export const { prefix } = api;
export const patient = await startApi({
  ...WINDOW,
  MORTISE_PREFIX: prefix,
  FILE_MAX_BYTES: String(16 * MIB),
});

let next = 0;

/** A channel of its own, with receivers. */
export async function open(...receivers: string[]): Promise<RemoteChannel> {
  next += 1;
  const channel = new RemoteChannel(api, `logs-${next}`);
  for (const receiver of receivers) await channel.join(receiver);
  return channel;
}

/** The parts of the keys that are left of a channel, each once. */
export async function left({ channel }: RemoteChannel): Promise<string[]> {
  const keys = await keysOf(redis, `${prefix}:messaging`);
  const own = keys.filter((key) => key.includes(`{${channel}}`) || key.includes(`{${channel}%`));
  return [...new Set(own.map((key) => key.slice(key.indexOf('}:') + 2).split(':')[0]!))].toSorted();
}

/** The remaining keys of a channel without files, and of one whose files were read. */
export const EMPTY = ['file-channel', 'file-receivers'];
export const CHANNEL = [...EMPTY, 'files'];

export const slug = ({ json }: { json: { type: string } }): string => json.type.split('/').at(-1)!;
