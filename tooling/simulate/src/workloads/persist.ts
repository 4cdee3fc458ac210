import type { VirtualProcess } from '../world/process.js';

const PAUSE_MS = 20;

/** Repeats a call whose reply is lost; its id makes that safe. */
export async function persist<Result>(process: VirtualProcess, call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      process.note(`repeats a call after ${String(error)}`);
      await process.pause(PAUSE_MS);
    }
  }
}
