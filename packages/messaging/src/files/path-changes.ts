/** How what a path names is waited for: that there is something, and that it changes. */
import { OpenedPath } from './opened-path.js';
import type { Path } from './paths.js';
import { renaming } from './paths.js';

interface Awaited {
  readonly follow?: AbortSignal;
  readonly signal?: AbortSignal;
  /** A sender that is gone has left it, and its path is not followed. */
  readonly isLeft?: boolean;
}

/** With `follow`, what was sent is waited for until it changes; false when it won't: the signal says so, or it was rotated. */
export async function changes(
  opened: OpenedPath,
  { follow, signal, isLeft = false }: Awaited,
  quietMs: number,
): Promise<boolean> {
  if (!follow) return false;
  const stop = signal ? AbortSignal.any([follow, signal]) : follow;
  while (!stop.aborted) {
    const isLast = await opened.isDeserted({ follow, quietMs, isLeft });
    if (await opened.hasChanged()) return true;
    if (isLast) return false;
    await opened.change(stop, quietMs);
  }
  signal?.throwIfAborted();
  return false;
}

/** With `follow`, waits until something stands there; `look` sees to what stood there. */
export async function openWhenThere(
  path: Path,
  { follow, signal }: Awaited,
  look: () => Promise<void>,
): Promise<OpenedPath> {
  for (;;) {
    try {
      return await OpenedPath.open(path);
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (!isMissing || !follow || follow.aborted) throw error;
    }
    await look();
    await renaming(path, signal ? AbortSignal.any([follow, signal]) : follow);
    signal?.throwIfAborted();
  }
}
