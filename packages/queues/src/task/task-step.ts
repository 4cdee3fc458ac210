/** A stored step: f64 instant, u16 length · name, result. */
export interface TaskStep {
  readonly name: string;
  /** When its result was stored, ms since the epoch, by the server's clock. */
  readonly at: number;
}

export const NAME_AT = 10;
/** The result of a wait whose time was over; no JSON. As in steps.wait.lua. */
export const TIMED_OUT = '!';

/** The steps of a task, as queue.get.lua returns them: without results. */
export function readSteps(text: Buffer): TaskStep[] {
  const steps: TaskStep[] = [];
  for (let from = 0; from < text.length;) {
    const end = from + NAME_AT + text.readUInt16BE(from + NAME_AT - 2);
    steps.push({ name: text.toString('utf8', from + NAME_AT, end), at: text.readDoubleBE(from) });
    from = end;
  }
  return steps;
}
