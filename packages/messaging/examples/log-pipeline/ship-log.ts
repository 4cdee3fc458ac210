import type { FileSender } from '@mortise/messaging/files';

/**
 * Ships a log while it grows, until `rotated` is aborted. The id names host and day: after a crash the same call continues at
 * the chunk that Redis doesn't have, and a log that was shipped whole is not sent again.
 */
export async function shipLog(
  sender: FileSender,
  path: string,
  { host, day, rotated }: { host: string; day: string; rotated: AbortSignal },
): Promise<number> {
  const id = `${host}-${day}`;
  const { bytes } = await sender.send(path, { id, name: `${id}.log`, follow: rotated });
  return bytes;
}
