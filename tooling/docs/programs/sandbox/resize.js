// resize.js
import { Discard } from '@mortise/queues';

export default async (payload, { signal, progress }) => {
  if (!payload.url) throw new Discard('nothing to resize');
  await progress(0.5);
  signal.throwIfAborted();
  return { width: 320 };
};
